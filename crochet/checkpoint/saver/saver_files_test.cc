// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The files that a saver creates, their directories and names.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/saver/internal/background_saver.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/testing/allocation_counter.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/testing/temp_directory.h"
#include "tests/support/raw_bundle.h"
#include "tests/support/restored_from.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing::ThrowsMessage;

class SaverFilesTest : public testing::Test {
 protected:
  SaverFilesTest() {
    graph_.variable("v0", Tensor::from<float>({1, 2, 3, 4}));
    graph_.variable("v1", Tensor::from<float>({5, 6, 7, 8}));
  }

  SaverOptions with(SaverOptions options) {
    options.files = &files_;
    return options;
  }
  // The step that this saver restores; -1 for other values than those that were saved.
  int64_t restored_step(Saver& saver, const std::string& prefix) {
    const auto session = graph_.new_session("");
    saver.restore(*session, prefix);
    for (const NamedTensor& entry : session->snapshot(graph_.variables()).tensors())
      if (entry.name == "v1" && entry.tensor != Tensor::from<float>({5, 6, 7, 8})) return -1;
    return read_global_step(*session);
  }

  LogCapture log_;
  MemoryFileSystem files_;
  ScriptedGraph graph_{{.global_step = 5}};
  std::unique_ptr<Session> session_ = graph_.new_session("");
};

TEST_F(SaverFilesTest, WarnsOnceOfAnotherNumberOfThreads) {
  Saver saver({.files = &files_});
  saver.save(*session_, "run/m", 5);
  EXPECT_EQ(read_sidecar(files_, "run/m-5")->threads, threads_here());
  saver.restore_newest(*session_, "run", "m");
  EXPECT_FALSE(log_.contains("may round differently"));
  update_sidecar(files_, "run/m-5",
                 [](CheckpointSidecar& sidecar) { sidecar.threads = "3000 cores"; });
  for (int i = 0; i < 2; ++i) saver.restore_newest(*session_, "run", "m");
  const std::vector<std::string> warnings = log_.lines(Severity::kWarning);
  EXPECT_EQ(std::ranges::count_if(warnings,
                                  [](const std::string& line) {
                                    return line.find("run/m-5 was saved with 3000 cores") !=
                                           std::string::npos;
                                  }),
            1);
}

TEST_F(SaverFilesTest, RejectsOptionsOutOfRange) {
  for (const SaverOptions& options :
       std::vector<SaverOptions>{{.num_shards = -1},
                                 {.num_shards = 0},
                                 {.num_shards = 100'000},
                                 {.keep_checkpoint_every_n_hours = -1.0},
                                 {.keep_checkpoint_every_n_hours = std::nan("")},
                                 {.keep_checkpoint_every_n_steps = -1}})
    EXPECT_THROW(Saver{options}, InvalidArgumentError);
}

// SV-25
TEST_F(SaverFilesTest, TheStepIsInTheName) {
  Saver saver(with({}));
  EXPECT_EQ(saver.save(*session_, "d/m", 5), "d/m-5");
  EXPECT_EQ(saver.save(*session_, "e/m", read_global_step(*session_)), "e/m-5");
  EXPECT_EQ(saver.save(*session_, "d/m"), "d/m");
  EXPECT_EQ(restored_step(saver, "d/m-5"), 5);
  EXPECT_EQ(restored_step(saver, "d/m"), 5);
}

TEST_F(SaverFilesTest, PaddedStepsHaveEightDigits) {
  Saver saver(with({.pad_step_number = true}));
  EXPECT_EQ(saver.save(*session_, "d/m", 5), "d/m-00000005");
  EXPECT_EQ(saver.save(*session_, "d/m", 123'456'789), "d/m-123456789");
  const auto session = graph_.new_session("");
  EXPECT_THAT(saver.restore_newest(*session, "d", "m"), RestoredFrom("d/m-123456789"));
  internal::BackgroundSaver background(saver);
  EXPECT_EQ(background.enqueue(saver.snapshot(*session_), "d/m", 7).prefix(), "d/m-00000007");
  background.wait();
  EXPECT_TRUE(checkpoint_exists(files_, "d/m-00000007"));
}

TEST_F(SaverFilesTest, AFullDiskIsDetectedBeforeTheDataIsWritten) {
  graph_.variable("large", Tensor::zeros<double>({1000}));
  graph_.variable("words", Tensor::from({"hello", "world"}));
  const auto session = graph_.new_session("");
  files_.create_directories("runs");
  FailingFileSystem watched(files_);
  SaverOptions options;
  options.files = &watched;
  options.check_free_space = false;  // It would fail earlier: see FullDiskTest.
  Saver saver(options);
  saver.save(*session, "runs/model", 1);
  // Includes the sidecar, which grows with the command line of this test.
  uint64_t used = 0;
  for (const std::string& name : files_.list("runs")) used += files_.file_size("runs/" + name);
  const auto num_operations = static_cast<size_t>(watched.num_operations());
  files_.set_capacity(used + 4'000);
  EXPECT_THAT([&] { saver.save(*session, "runs/model", 2); },
              ThrowsMessage<ResourceExhaustedError>(AllOf(HasSubstr("runs/model-2.data"),
                                                          HasSubstr(" bytes are needed, "),
                                                          HasSubstr(" are free: No space left"))));
  for (size_t i = num_operations; i < watched.operations().size(); ++i)
    EXPECT_THAT(watched.operations()[i], Not(StartsWith("append")));
  EXPECT_THAT(saver.last_checkpoints(), ElementsAre("runs/model-1"));
  EXPECT_EQ(files_.list("runs").size(), 4u);
  // There is slightly more space than is needed.
  files_.set_capacity(used * 2 + 1'000);
  EXPECT_NO_THROW(saver.save(*session, "runs/model", 3));
}

TEST_F(SaverFilesTest, TheSidecarOfASaveWithoutAStepHasNone) {
  Saver saver(with({}));
  saver.save(*session_, "d/m");
  EXPECT_EQ(read_sidecar(files_, "d/m")->step, -1);
}

// CM-1: here, one data file and several are treated alike.
TEST_F(SaverFilesTest, ACheckpointCannotHaveTheStateFilesName) {
  for (const int num_shards : {1, 2}) {
    Saver saver(with({.num_shards = num_shards}));
    EXPECT_THAT([&] { saver.save(*session_, "d/checkpoint"); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr("collides with")));
    EXPECT_EQ(saver.save(*session_, "d/checkpoint", 0), "d/checkpoint-0");
  }
  EXPECT_NO_THROW(Saver(with({.latest_filename = "latest"})).save(*session_, "d/checkpoint"));
}

// SV-9
TEST_F(SaverFilesTest, ADirectoryThatWasMovedIsFoundAgain) {
  for (const bool is_absolute : {false, true}) {
    const std::string old_directory = is_absolute ? "/a/old" : "b/old";
    const std::string new_directory = is_absolute ? "/a/new" : "b/new";
    Saver saver(with({}));
    for (const int64_t step : {1, 2}) saver.save(*session_, old_directory + "/m", step);
    files_.rename(old_directory, new_directory);
    const auto newest = latest_checkpoint(files_, new_directory);
    ASSERT_TRUE(newest);
    EXPECT_EQ(*newest, new_directory + "/m-2");
    EXPECT_EQ(restored_step(saver, *newest), 5);
    EXPECT_THAT(get_checkpoint_state(files_, new_directory)->all_model_checkpoint_paths,
                ElementsAre(new_directory + "/m-1", new_directory + "/m-2"));
  }
}

// SV-11
TEST_F(SaverFilesTest, RestoringAMissingCheckpointIsAnInvalidArgument) {
  Saver saver(with({}));
  EXPECT_THAT([&] { saver.restore(*session_, "nowhere/m-1"); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("The passed save_path is not a valid checkpoint: nowhere/m-1")));
  EXPECT_THROW(saver.restore(*session_, ""), InvalidArgumentError);
  files_.create_directories("d");
  EXPECT_THROW(saver.restore(*session_, "d"), InvalidArgumentError);
  files_.create("d/v1");
  EXPECT_THAT([&] { saver.restore(*session_, "d/v1"); },
              ThrowsMessage<UnimplementedError>(HasSubstr("V1 format")));
}

// SV-27
TEST_F(SaverFilesTest, CreatesDirectoriesUnlessThePathIsAFile) {
  TempDirectory temporary;
  const std::string& directory = temporary.path();
  FileSystem& posix = FileSystem::posix();
  Saver real;
  EXPECT_NO_THROW(real.save(*session_, directory + "/a/b/c/m", 1));
  EXPECT_TRUE(checkpoint_exists(posix, directory + "/a/b/c/m-1"));
  posix.create(directory + "/file");
  files_.create("file");
  Saver in_memory(with({}));
  for (Saver* const saver : {&real, &in_memory})
    for (const char* const parent : {"file", "file/deep"}) {
      const std::string path = saver == &real ? join_path(directory, parent) : parent;
      EXPECT_THAT([&] { saver->save(*session_, path + "/m", 1); },
                  ThrowsMessage<InvalidArgumentError>(StartsWith(
                      fmt::format("Parent directory of {}/m doesn't exist, can't save.", path))));
      EXPECT_THAT([&] { saver->save(*session_, path + "/m"); },
                  ThrowsMessage<InvalidArgumentError>(StartsWith("Parent directory of ")));
    }
}

TEST_F(SaverFilesTest, ChecksTheFreeSpaceForADirectoryThatDoesNotExistYet) {
  const TempDirectory temporary;
  Saver().save(*session_, temporary / "not/yet/m", 1);
  EXPECT_FALSE(log_.contains("the free space is unknown"));
}

// Reports a number of times that a file is missing although it is not, as some networks do.
class ForgetfulFiles final : public MemoryFileSystem {
 public:
  std::unique_ptr<ReadableFile> open(const std::string& path) override {
    if (path == forgotten && num_times-- > 0)
      throw NotFoundError(path + ": open failed: No such file or directory (ENOENT)");
    return MemoryFileSystem::open(path);
  }

  std::string forgotten;
  int num_times = 0;
};

TEST_F(SaverFilesTest, OneFalseReportOfAMissingFileSetsNothingAside) {
  for (const char* const name : {"run/m-2.index", "run/m-2.data-00000-of-00001"}) {
    ForgetfulFiles files;
    Saver saver({.files = &files});
    for (const int64_t step : {1, 2}) saver.save(*session_, "run/m", step);
    const internal::DirectoryLock lock(files, "run");
    files.forgotten = name;
    files.num_times = 1;
    const auto session = graph_.new_session("");
    EXPECT_THAT(Saver({.files = &files}).restore_newest(*session, "run", "m"),
                RestoredFrom("run/m-2"));
    EXPECT_TRUE(log_.contains("run/m-2 is read again")) << name;
    EXPECT_TRUE(files.exists("run/m-2.index"));
  }
}

TEST_F(SaverFilesTest, AnIndexThatDisappearsBeforeItIsOpenedIsDamage) {
  ForgetfulFiles files;
  Saver saver({.files = &files});
  for (const int64_t step : {1, 2}) saver.save(*session_, "run/m", step);
  files.forgotten = "run/m-2.index";
  files.num_times = 1000;
  const auto session = graph_.new_session("");
  EXPECT_THAT(saver.restore_newest(*session, "run", "m"), RestoredFrom("run/m-1"));
  EXPECT_TRUE(log_.contains("m-2 cannot be used"));
}

// Whatever the index is, memory and time are bounded, and the next checkpoint is tried.
TEST_F(SaverFilesTest, AHugeOrSparseIndexIsDamage) {
  for (const char* const suffix : {".index", ".safetensors", ".safetensors.index.json"}) {
    const TempDirectory directory;
    Saver saver;
    saver.save(*session_, directory / "m", 1);
    const std::string path = directory / (std::string("m-2") + suffix);
    internal::put_file(FileSystem::posix(), path, "some");
    std::filesystem::resize_file(path, uint64_t{200} << 30);
    const auto session = graph_.new_session("");
    const AllocationCounter allocations;
    EXPECT_THAT(saver.restore_newest(*session, directory.path(), "m"),
                RestoredFrom(directory / "m-1"))
        << path;
    EXPECT_LT(allocations.largest(), size_t{1} << 28) << path;
    EXPECT_TRUE(log_.contains("m-2 cannot be used")) << path;
    log_.clear();
  }
}

// Somebody put it there: the error names it, and no older checkpoint is taken instead.
TEST_F(SaverFilesTest, ADirectoryInPlaceOfAnIndexStopsTheRestore) {
  for (const char* const suffix : {".index", ".safetensors.index.json"}) {
    const TempDirectory directory;
    Saver saver;
    saver.save(*session_, directory / "m", 1);
    const std::string path = directory / (std::string("m-2") + suffix);
    std::filesystem::create_directory(path);
    const auto session = graph_.new_session("");
    EXPECT_THAT([&] { saver.restore_newest(*session, directory.path(), "m"); },
                ThrowsMessage<FailedPreconditionError>(HasSubstr("found a directory")))
        << path;
  }
}

TEST_F(SaverFilesTest, AHugeSidecarOrStateFileOrADirectoryIsIgnored) {
  for (const bool is_directory : {true, false})
    for (const char* const name : {"m-1.json", "checkpoint"}) {
      const TempDirectory directory;
      Saver saver;
      saver.save(*session_, directory / "m", 1);
      std::filesystem::remove(directory / name);
      if (is_directory) {
        std::filesystem::create_directory(directory / name);
      } else {
        internal::put_file(FileSystem::posix(), directory / name, "some");
        std::filesystem::resize_file(directory / name, uint64_t{200} << 30);
      }
      const auto session = graph_.new_session("");
      const AllocationCounter allocations;
      EXPECT_THAT(Saver().restore_newest(*session, directory.path(), "m"),
                  RestoredFrom(directory / "m-1"))
          << name;
      EXPECT_LT(allocations.largest(), size_t{1} << 20) << name;
      EXPECT_TRUE(log_.contains(is_directory ? "found a directory, expected a plain file"
                                             : "are stored on disk"));
      log_.clear();
    }
}

// SV-32: the definition of a saver is its options.
TEST_F(SaverFilesTest, ASaverCanBeCreatedFromTheOptionsOfAnother) {
  Saver saver(with({.num_shards = 2, .pad_step_number = true}));
  EXPECT_EQ(saver.options().num_shards, 2);
  EXPECT_EQ(Saver(saver.options()).save(*session_, "d/m", 1), "d/m-00000001");
  EXPECT_TRUE(files_.exists("d/m-00000001.data-00001-of-00002"));
}

// SV-35: here, shards are not split by device, but have about the same size.
TEST_F(SaverFilesTest, SeveralDataFilesAreOneCheckpoint) {
  Saver saver(with({.num_shards = 2}));
  const std::string prefix = saver.save(*session_, "d/m", 1);
  EXPECT_EQ(prefix, "d/m-1");
  EXPECT_THAT(files_.list("d"), ElementsAre("checkpoint", "m-1.data-00000-of-00002",
                                            "m-1.data-00001-of-00002", "m-1.index", "m-1.json"));
  EXPECT_EQ(files_.file_size("d/m-1.data-00000-of-00002"), 8u + 16u);
  EXPECT_EQ(files_.file_size("d/m-1.data-00001-of-00002"), 16u);
  EXPECT_EQ(latest_checkpoint(files_, "d"), prefix);
  EXPECT_EQ(restored_step(saver, prefix), 5);
  CheckpointReader(prefix, files_).verify();
}

// CM-10, CM-12
TEST_F(SaverFilesTest, ACheckpointExistsFromItsSaveToItsRemoval) {
  for (const int num_shards : {1, 3}) {
    const std::string prefix = fmt::format("d/{}/m-1", num_shards);
    EXPECT_FALSE(checkpoint_exists(files_, prefix));
    EXPECT_FALSE(latest_checkpoint(files_, directory_of(prefix)));
    Saver saver(with({.num_shards = num_shards}));
    saver.save(*session_, fmt::format("d/{}/m", num_shards), 1);
    EXPECT_TRUE(checkpoint_exists(files_, prefix));
    EXPECT_TRUE(checkpoint_exists(files_, latest_checkpoint(files_, directory_of(prefix)).value()));
    remove_checkpoint(files_, prefix);
    EXPECT_FALSE(checkpoint_exists(files_, prefix));
    EXPECT_THAT(files_.list(directory_of(prefix)), ElementsAre("checkpoint"));
  }
}

// CM-11
TEST_F(SaverFilesTest, MtimesOfTwoCheckpointsAreInOrder) {
  Saver saver(with({}));
  const std::vector<std::string> prefixes = {saver.save(*session_, "d/m", 1),
                                             saver.save(*session_, "d/m", 2)};
  const std::vector<double> times = get_checkpoint_mtimes(files_, prefixes);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_GE(times[1], times[0]);
  EXPECT_GT(times[0], 0);
}

TEST_F(SaverFilesTest, SurplusDataFilesExistAndAreEmpty) {
  Saver saver(with({.num_shards = 100}));
  saver.save(*session_, "d/m", 1);
  EXPECT_EQ(restored_step(saver, "d/m-1"), 5);
  EXPECT_EQ(files_.list("d").size(), 103u);
}

TEST_F(SaverFilesTest, TheStateFileMayBeRenamedOrSwitchedOff) {
  Saver(with({.latest_filename = "best"})).save(*session_, "d/m", 1);
  EXPECT_FALSE(files_.exists("d/checkpoint"));
  EXPECT_EQ(latest_checkpoint(files_, "d", "best"), "d/m-1");
  Saver(with({.write_state = false})).save(*session_, "e/m", 1);
  EXPECT_THAT(files_.list("e"), Not(Contains("checkpoint")));
}

// SV-43
TEST_F(SaverFilesTest, WritesTheMetaGraphIfThereIsOne) {
  Saver(with({})).save(*session_, "none/m", 1);
  EXPECT_FALSE(files_.exists("none/m-1.meta"));
  graph_.set_meta_graph("the graph");
  Saver(with({.write_meta_graph = false})).save(*session_, "without/m", 1);
  EXPECT_FALSE(files_.exists("without/m-1.meta"));
  EXPECT_EQ(restored_step(*std::make_unique<Saver>(with({})), "without/m-1"), 5);
  Saver(with({})).save(*session_, "with/m", 1);
  EXPECT_EQ(read_file(files_, "with/m-1.meta"), "the graph");
}

// Like SaverTest.LeavesNoFileOfAFailedSave, with all kinds of files.
TEST_F(SaverFilesTest, AFailedSaveOfSeveralFilesLeavesNoFile) {
  graph_.set_meta_graph("the graph");
  Saver(with({})).save(*session_, "d/m", 1);
  const std::vector<std::string> before = files_.list("d");
  for (int64_t n = 0;; ++n) {
    FailingFileSystem failing(files_);
    failing.fail_operation(n, Code::kResourceExhausted);
    Saver saver({.num_shards = 3, .files = &failing});
    bool failed = false;
    try {
      saver.save(*session_, "d/m", 2);
    } catch (const ResourceExhaustedError&) {
      failed = true;
    }
    if (failing.num_failures() == 0) break;  // Each operation has failed once.
    ASSERT_TRUE(failed) << failing.operations().back();
    if (checkpoint_exists(files_, "d/m-2"))
      CheckpointReader("d/m-2", files_).verify();
    else
      EXPECT_EQ(files_.list("d"), before) << n;
    remove_checkpoint(files_, "d/m-2");
    update_checkpoint_state(files_, "d", "d/m-1");
    EXPECT_EQ(files_.list("d"), before) << n;
  }
}

TEST_F(SaverFilesTest, SavingAgainWithFewerDataFilesRestoresTheNewState) {
  Saver(with({.num_shards = 3})).save(*session_, "d/m", 1);
  session_->run(graph_.train());
  Saver saver(with({}));
  saver.save(*session_, "d/m", 1);
  EXPECT_EQ(restored_step(saver, "d/m-1"), 6);
  remove_checkpoint(files_, "d/m-1");
  EXPECT_THAT(files_.list("d"), ElementsAre("checkpoint"));
}

}  // namespace
}  // namespace crochet
