// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A saver's checkpoints in the safetensors format, alone and together with tensor bundles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/directory/checkpoints_iterator.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_writer.h"
#include "crochet/checkpoint/saver/checkpoint_manager.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "tests/support/raw_bundle.h"

namespace crochet {
namespace {

using testing::AllOf;

using testing::Each;
using testing::ElementsAre;

using testing::IsSupersetOf;

using testing::Optional;
using testing::StartsWith;

using testing::UnorderedElementsAreArray;

constexpr auto kBundle = CheckpointFormat::kTensorBundle;
constexpr auto kSafetensors = CheckpointFormat::kSafetensors;

class SaverFormatTest : public testing::Test {
 protected:
  SaverFormatTest() {
    graph_.variable("w", Tensor::from<float>({1, 2, 3}));
    graph_.variable("tags", Tensor::from({"a", "bc"}));
  }

  SaverOptions options(CheckpointFormat format, int num_shards = 1, int max_to_keep = 5) {
    return {.format = format,
            .num_shards = num_shards,
            .max_to_keep = max_to_keep,
            .files = &files_,
            .clock = &clock_};
  }
  // Saves the step as if in its own process, and restores it as if in the next one.
  void save(const SaverOptions& saver_options, int64_t step) {
    Saver saver(saver_options);
    const auto session = graph_.new_session("");
    saver.restore_newest(*session, "d", "m");
    for (int64_t at = read_global_step(*session); at < step; ++at) session->run(graph_.train());
    saver.save(*session, "d/m", step);
    EXPECT_EQ(restored_step(), step);
  }
  int64_t restored_step() {
    Saver saver(options(kBundle));
    const auto session = graph_.new_session("");
    if (!saver.restore_newest(*session, "d", "m")) return -1;
    return read_global_step(*session);
  }

  LogCapture log_;
  MemoryFileSystem files_;
  FakeClock clock_{1'700'000'000};
  ScriptedGraph graph_;
};

TEST_F(SaverFormatTest, SavesOneFileWithItsSidecar) {
  save(options(kSafetensors), 3);
  EXPECT_THAT(files_.list("d"), ElementsAre("checkpoint", "m-3.json", "m-3.safetensors"));
  const CheckpointReader reader("d/m-3", files_);
  EXPECT_EQ(reader.format(), kSafetensors);
  EXPECT_TRUE(reader.has_checksums());
  EXPECT_EQ(reader.read("tags"), Tensor::from({"a", "bc"}));
  const auto sidecar = read_sidecar(files_, "d/m-3");
  ASSERT_TRUE(sidecar);
  EXPECT_EQ(sidecar->size_bytes, files_.file_size("d/m-3.safetensors"));
  EXPECT_NE(sidecar->index_crc32c, 0u);
  EXPECT_THAT(latest_checkpoint(files_, "d"), Optional(std::string("d/m-3")));
}

TEST_F(SaverFormatTest, RefusesToWriteFilesOfTorch) {
  EXPECT_THROW(Saver({.format = CheckpointFormat::kTorch, .files = &files_}), InvalidArgumentError);
  EXPECT_THROW(new_checkpoint_writer(CheckpointFormat::kTorch, files_, "d/m"),
               InvalidArgumentError);
}

TEST_F(SaverFormatTest, SavesSeveralFilesWithAnIndex) {
  save(options(kSafetensors, 2), 3);
  EXPECT_THAT(files_.list("d"), ElementsAre("checkpoint", "m-3-00001-of-00002.safetensors",
                                            "m-3-00002-of-00002.safetensors", "m-3.json",
                                            "m-3.safetensors.index.json"));
}

// The same guarantees: files are synced before they are renamed, and in the same order.
TEST_F(SaverFormatTest, IsCompleteBeforeItExists) {
  FailingFileSystem files(files_);
  SaverOptions with = options(kSafetensors);
  with.files = &files;
  with.write_meta_graph = false;
  Saver saver(with);
  files_.create_directories("d");
  saver.save(*graph_.new_session(""), "d/m", 3);
  std::vector<std::string> operations;
  for (std::string operation : files.operations()) {
    for (const std::string mark : {".tempstate", ".tmp"})
      if (const size_t at = operation.find(mark); at != std::string::npos)
        operation = operation.substr(0, at + mark.size());
    operations.push_back(operation);
  }
  EXPECT_THAT(
      operations,
      ElementsAre("create d/m-3.safetensors.tempstate", "append d/m-3.safetensors.tempstate",
                  "sync d/m-3.safetensors.tempstate", "close d/m-3.safetensors.tempstate",
                  "create d/m-3.json.tmp", "append d/m-3.json.tmp", "sync d/m-3.json.tmp",
                  "close d/m-3.json.tmp", "rename d/m-3.json.tmp", "sync_directory d",
                  "rename d/m-3.safetensors.tempstate", "sync_directory d",
                  "create d/checkpoint.tmp", "append d/checkpoint.tmp", "sync d/checkpoint.tmp",
                  "close d/checkpoint.tmp", "rename d/checkpoint.tmp", "sync_directory d"));
}

TEST_F(SaverFormatTest, RestoresAndRetainsAcrossAChangeOfFormat) {
  save(options(kBundle, 1, 3), 1);
  save(options(kBundle, 2, 3), 2);
  save(options(kSafetensors, 1, 3), 3);
  save(options(kSafetensors, 2, 3), 4);
  EXPECT_THAT(list_checkpoints(files_, "d", "m"), ElementsAre("d/m-2", "d/m-3", "d/m-4"));
  save(options(kBundle, 1, 3), 5);
  save(options(kSafetensors, 1, 3), 6);
  save(options(kBundle, 1, 3), 7);
  EXPECT_THAT(list_checkpoints(files_, "d", "m"), ElementsAre("d/m-5", "d/m-6", "d/m-7"));
  EXPECT_THAT(files_.list("d"),
              Each(testing::AnyOf("checkpoint", ".lock", ".sidecar_lock", StartsWith("m-5."),
                                  StartsWith("m-6."), StartsWith("m-7."))));
}

TEST_F(SaverFormatTest, SavingAPrefixAgainLeavesOneFormat) {
  const std::vector<SaverOptions> all = {options(kBundle), options(kBundle, 2),
                                         options(kSafetensors), options(kSafetensors, 2),
                                         options(kSafetensors, 3)};
  const auto session = graph_.new_session("");
  for (const SaverOptions& first : all) {
    for (const SaverOptions& second : all) {
      Saver(first).save(*session, "d/same");
      const auto before = files_.list("d");
      Saver(second).save(*session, "d/other");
      Saver(second).save(*session, "d/same");
      std::vector<std::string> expected;
      for (const std::string& name : files_.list("d"))
        if (name.starts_with("other")) expected.push_back("same" + name.substr(5));
      std::vector<std::string> found;
      for (const std::string& name : files_.list("d"))
        if (name.starts_with("same")) found.push_back(name);
      EXPECT_THAT(found, UnorderedElementsAreArray(expected));
      EXPECT_EQ(CheckpointReader("d/same", files_).format(), second.format);
      remove_checkpoint(files_, "d/same");
      remove_checkpoint(files_, "d/other");
      EXPECT_THAT(files_.list("d"), ElementsAre("checkpoint"));
    }
  }
}

// When a prefix is saved in another format, the old checkpoint or the new one exists at all times.
TEST_F(SaverFormatTest, ACrashWhileTheFormatChangesLeavesOneOfThem) {
  const std::vector<std::pair<SaverOptions, SaverOptions>> changes = {
      {options(kBundle), options(kSafetensors)},
      {options(kSafetensors), options(kBundle, 2)},
      {options(kSafetensors), options(kSafetensors)},
      {options(kSafetensors), options(kSafetensors, 2)},
      {options(kSafetensors, 2), options(kSafetensors)},
      {options(kSafetensors, 2), options(kBundle)}};
  for (const auto& [before, after] : changes) {
    for (const PowerCut& cut : {PowerCut{UnsyncedNames::kLost, UnsyncedBytes::kLost},
                                PowerCut{UnsyncedNames::kKept, UnsyncedBytes::kLost}}) {
      for (int64_t n = 0;; ++n) {
        MemoryFileSystem disk;
        FailingFileSystem failing(disk);
        const auto session = graph_.new_session("");
        SaverOptions with = before;
        with.files = &disk;
        Saver(with).save(*session, "d/same");
        disk.power_cut(cut);  // The first save is durable.
        session->run(graph_.train());
        with = after;
        with.files = &failing;
        failing.fail_operation(n, Code::kUnknown, Failing::kFromThenOn);
        bool reported = false;
        try {
          Saver(with).save(*session, "d/same");
        } catch (const UnknownError&) {
          reported = true;
        }
        disk.power_cut(cut);
        const CheckpointReader reader("d/same", disk);
        EXPECT_NO_THROW(reader.verify()) << "after " << n << " operations";
        const auto step = reader.read("global_step").scalar<int64_t>();
        EXPECT_TRUE(step == 1 || (reported && step == 0)) << step << " after " << n;
        if (failing.num_failures() == 0) break;  // Each operation has failed once.
      }
    }
  }
}

TEST_F(SaverFormatTest, FallsBackToAnOlderCheckpointOfTheOtherFormat) {
  files_.create_directories("d");
  const internal::DirectoryLock lock(files_, "d");
  save(options(kBundle), 1);
  save(options(kSafetensors), 2);
  save(options(kSafetensors, 2), 3);
  for (const std::string name : {"d/m-2.safetensors", "d/m-3-00001-of-00002.safetensors"})
    files_.truncate(name, files_.file_size(name) - 1);
  EXPECT_EQ(restored_step(), 1);
  EXPECT_THAT(files_.list("d"),
              IsSupersetOf({"m-2.safetensors.damaged", "m-3.safetensors.index.json.damaged",
                            "m-3-00001-of-00002.safetensors.damaged"}));
  EXPECT_THAT(list_checkpoints(files_, "d", "m"), ElementsAre("d/m-1"));
}

TEST_F(SaverFormatTest, RemovesLeftoversButNoForeignFiles) {
  save(options(kSafetensors), 1);
  save(options(kSafetensors, 2), 2);
  const auto sound = files_.list("d");
  const std::vector<std::string> leftovers = {
      "m-3.safetensors.tempstate12", "m-3.json", "m-4-00001-of-00002.safetensors",
      "m-4-00001-of-00002.safetensors.tempstate7", "m-4.safetensors.index.json.tempstate8"};
  const std::vector<std::string> foreign = {"m-00001-of-00002.safetensors", "n-3.json",
                                            "model.safetensors", "x.safetensors.tempstate3"};
  for (const auto& names : {leftovers, foreign})
    for (const std::string& name : names) internal::put_file(files_, "d/" + name, "x");
  remove_leftovers(files_, "d", "m");
  files_.remove("d/.lock");
  EXPECT_THAT(files_.list("d"), AllOf(IsSupersetOf(sound), IsSupersetOf(foreign)));
  EXPECT_EQ(files_.list("d").size(), sound.size() + foreign.size());
}

TEST_F(SaverFormatTest, RestoresAFileByItsName) {
  save(options(kSafetensors), 4);
  files_.rename("d/m-4.safetensors", "d/export.safetensors");
  Saver saver(options(kBundle));
  const auto session = graph_.new_session("");
  saver.restore(*session, "d/export.safetensors");
  EXPECT_EQ(read_global_step(*session), 4);
  EXPECT_THROW(saver.restore(*session, "d/none.safetensors"), InvalidArgumentError);
}

TEST_F(SaverFormatTest, WarnsAboutAFileWithoutChecksums) {
  const auto session = graph_.new_session("");
  internal::SafetensorsWriter writer(files_, "e/theirs", {.checksums = false});
  for (const auto& [name, tensor] : Saver().snapshot(*session).tensors())
    if (tensor.dtype() != DType::kString) writer.add(name, tensor);
  writer.finish();
  Saver(options(kBundle), {.allow_missing = true}).restore(*session, "e/theirs");
  EXPECT_TRUE(log_.contains("checkpoint e/theirs has no checksums"));
  log_.clear();
  save(options(kSafetensors), 4);
  EXPECT_FALSE(log_.contains("no checksums"));
}

TEST_F(SaverFormatTest, ManagersAndIteratorsFindThem) {
  CheckpointManager manager({.directory = "d", .max_to_keep = 2, .saver = options(kSafetensors)});
  const auto session = graph_.new_session("");
  for (int i = 0; i < 3; ++i) manager.save(*session);
  EXPECT_THAT(list_checkpoints(files_, "d", "ckpt"), ElementsAre("d/ckpt-2", "d/ckpt-3"));
  CheckpointsIterator iterator(
      "d", {.timeout_secs = 0, .checkpoint_basename = "ckpt", .files = &files_, .clock = &clock_});
  EXPECT_THAT(iterator.next(), Optional(std::string("d/ckpt-3")));
}

TEST_F(SaverFormatTest, DoesNotStartAfreshIfACheckpointHasAnotherName) {
  save(options(kSafetensors), 4);
  Saver saver(options(kSafetensors));
  EXPECT_THROW(saver.restore_newest(*graph_.new_session(""), "d", "other"),
               FailedPreconditionError);
}

}  // namespace
}  // namespace crochet
