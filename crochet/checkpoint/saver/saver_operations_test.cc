// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Savers that save and restore with the graph's own operations.
#include <errno.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/saver/internal/save_promise.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/checkpoint/saver/internal/saver_access.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/io/file_system.h"
#include "crochet/session/internal/state_operations.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/testing/temp_directory.h"
#include "tests/support/raw_bundle.h"
#include "tests/support/restored_from.h"
#include "tests/support/saved_counter.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

// Writes like TensorFlow's operations: files that are not synced, here two for the data.
class BundleOperations final : public internal::StateOperations {
 public:
  explicit BundleOperations(FileSystem& files) : files_(&files) {}

  bool preferred_for(const Session&) const override { return is_preferred; }
  bool saves(std::string_view variable) const override { return variable != left_out; }
  void save(Session& session, const std::string& prefix) override {
    ++num_saves;
    if (fail) fail();
    if (full_directories.contains(directory_of(prefix))) {
      // Like TensorFlow, leaves the files that exist.
      files_->create(prefix + ".data-00000-of-00002.tempstate1")->close();
      throw ResourceExhaustedError(fmt::format("{}: no room", prefix));
    }
    MemoryFileSystem elsewhere;
    internal::BundleWriter writer(elsewhere, prefix, {.num_shards = 2});
    std::vector<Variable> variables;
    for (const Variable& variable : session.graph().variables())
      if (saves(variable.name())) variables.push_back(variable);
    const Snapshot snapshot = session.snapshot(variables);
    for (const auto& [name, tensor] : snapshot.tensors()) {
      writer.add(name, tensor);
      if (name == snapshot.tensors().front().name) writer.next_shard();
    }
    writer.finish();
    if (writes_elsewhere) return;
    for (const std::string& name : elsewhere.list(directory_of(prefix))) {
      const std::string path = join_path(directory_of(prefix), name);
      const auto file = files_->create(path);
      file->append(read_file(elsewhere, path));
      file->close();
    }
  }
  void restore(Session& session, const std::string& prefix) override {
    ++num_restores;
    if (fail) fail();
    const CheckpointReader reader(prefix, *files_);
    std::vector<Assignment> assignments;
    for (const Variable& variable : session.graph().variables())
      if (saves(variable.name()))
        assignments.push_back({.variable = variable,
                               .shape = variable.shape(),
                               .fill = [&reader, variable](std::span<std::byte> to) {
                                 reader.read_into(variable.name(), to);
                               }});
    session.assign(assignments);
  }

  bool is_preferred = false;
  bool writes_elsewhere = false;
  std::string left_out;
  std::set<std::string> full_directories;
  std::function<void()> fail;
  int num_saves = 0;
  int num_restores = 0;

 private:
  FileSystem* files_;
};

class SaverOperationsTest : public testing::Test {
 protected:
  SaverOperationsTest() {
    graph_.variable("w", Tensor::from<float>({1, 2, 3, 4}, {2, 2}));
    graph_.attach<internal::StateOperations>(operations_);
  }

  SaverOptions options() {
    return {.writer = StateWriter::kGraph, .max_to_keep = 2, .files = &failing_, .clock = &clock_};
  }
  std::string save_next_step(Saver& saver) {
    session_->run(graph_.train());
    const int64_t step = read_global_step(*session_);
    counter_->count = 10 * step;
    return saver.save(*session_, "d/model.ckpt", step);
  }
  void add_counter() { graph_.add_saveable({.name = "counter", .object = counter_}); }

  // Saves a step while operation n and all after it fail, then cuts the power. False if no
  // operation failed.
  bool save_with_failures(int64_t step, FailedWork work, int64_t n) {
    MemoryFileSystem disk;
    FailingFileSystem files(disk);
    *operations_ = BundleOperations(files);
    SaverOptions with = options();
    with.files = &files;
    with.max_to_keep = 5;
    Saver saver(with);
    saver.save(*session_, "d/model.ckpt", 0);
    saver.save(*session_, "d/model.ckpt", 1);
    files.set_failed_work(work);
    files.fail_operation_with_errno(files.num_operations() + n, EIO, Failing::kFromThenOn);
    const std::string prefix = fmt::format("d/model.ckpt-{}", step);
    bool is_saved = false;
    try {
      is_saved = saver.save(*session_, "d/model.ckpt", step) == prefix;
    } catch (const Error&) {
    }
    EXPECT_THAT(files.violations(), IsEmpty()) << n;
    disk.power_cut({.names = n % 2 == 0 ? UnsyncedNames::kKept : UnsyncedNames::kLost});
    const auto found = list_checkpoints(disk, "d", "model.ckpt");
    EXPECT_THAT(found, testing::Contains("d/model.ckpt-0")) << n;
    for (const std::string& each : found) EXPECT_NO_THROW(CheckpointReader(each, disk).verify());
    EXPECT_TRUE(!is_saved || found.back() == prefix) << n;
    return files.num_failures() > 0;
  }

  LogCapture log_;
  MemoryFileSystem files_;
  FailingFileSystem failing_{files_};
  FakeClock clock_{1'700'000'000};
  ScriptedGraph graph_;
  std::shared_ptr<BundleOperations> operations_ = std::make_shared<BundleOperations>(failing_);
  std::shared_ptr<SavedCounter> counter_ = std::make_shared<SavedCounter>();
  std::unique_ptr<Session> session_ = graph_.new_session("");
};

TEST_F(SaverOperationsTest, RenamesTheFilesOfTheOperations) {
  Saver saver(options());
  EXPECT_EQ(save_next_step(saver), "d/model.ckpt-1");
  EXPECT_EQ(operations_->num_saves, 1);
  EXPECT_THAT(files_.list("d"), ElementsAre("checkpoint", "model.ckpt-1.data-00000-of-00002",
                                            "model.ckpt-1.data-00001-of-00002",
                                            "model.ckpt-1.index", "model.ckpt-1.json"));
  CheckpointReader reader("d/model.ckpt-1", files_);
  reader.verify();
  EXPECT_EQ(reader.read("w"), Tensor::from<float>({1, 2, 3, 4}, {2, 2}));
  const auto sidecar = read_sidecar(files_, "d/model.ckpt-1");
  ASSERT_TRUE(sidecar);
  EXPECT_EQ(sidecar->index_crc32c, internal::index_crc32c_of(files_, "d/model.ckpt-1"));
  uint64_t num_bytes = files_.file_size("d/model.ckpt-1.index");
  for (int shard : {0, 1})
    num_bytes += files_.file_size(internal::data_filename("d/model.ckpt-1", shard, 2));
  EXPECT_EQ(sidecar->size_bytes, num_bytes);
  EXPECT_TRUE(log_.contains("written by the graph's own operations"));
}

TEST_F(SaverOperationsTest, AddsTheStateOfObjects) {
  add_counter();
  Saver saver(options());
  save_next_step(saver);
  EXPECT_THAT(files_.list("d"), testing::SizeIs(6));  // One more data file, and no leftovers.
  counter_->count = 0;
  const auto session = graph_.new_session("");
  ASSERT_TRUE(saver.restore_newest(*session, "d", "model.ckpt"));
  EXPECT_EQ(operations_->num_restores, 1);
  EXPECT_EQ(counter_->count, 10);
  EXPECT_EQ(read_global_step(*session), 1);
}

TEST_F(SaverOperationsTest, KeepsTheNewest) {
  Saver saver(options());
  for (int i = 0; i < 4; ++i) save_next_step(saver);
  EXPECT_THAT(list_checkpoints(files_, "d", "model.ckpt"),
              ElementsAre("d/model.ckpt-3", "d/model.ckpt-4"));
  EXPECT_THAT(files_.list("d"), testing::SizeIs(11));  // Including two lock files.
}

TEST_F(SaverOperationsTest, AreUsedIfTheyAreTheBetterWay) {
  const TempDirectory directory;
  const auto num_saves_with = [&](SaverOptions options) {
    operations_->num_saves = 0;
    internal::SaverAccess::snapshot_for(Saver(std::move(options)), *session_,
                                        directory.path() + "/x-1");
    return operations_->num_saves;
  };
  EXPECT_EQ(num_saves_with({}), 0);
  operations_->is_preferred = true;
  operations_->fail = [] { throw NotFoundError("not on this disk"); };
  EXPECT_EQ(num_saves_with({}), 1);
  EXPECT_EQ(num_saves_with({.writer = StateWriter::kCrochet}), 0);
  EXPECT_EQ(num_saves_with({.filter = [](std::string_view) { return true; }}), 0);
  EXPECT_EQ(num_saves_with({.format = CheckpointFormat::kSafetensors}), 0);
  EXPECT_EQ(num_saves_with({.num_shards = 2}), 0);
  EXPECT_EQ(num_saves_with({.files = &files_}), 0);
  EXPECT_TRUE(log_.contains("in a cluster there is no moment between two steps"));
}

TEST_F(SaverOperationsTest, RejectsOptionsThatTheyDoNotSupport) {
  const auto with = [](SaverOptions options) {
    options.writer = StateWriter::kGraph;
    return Saver(std::move(options)).options().writer;
  };
  EXPECT_THROW(with({.filter = [](std::string_view) { return true; }}), InvalidArgumentError);
  EXPECT_THROW(with({.format = CheckpointFormat::kSafetensors}), InvalidArgumentError);
  EXPECT_THROW(with({.num_shards = 2}), InvalidArgumentError);
  ScriptedGraph without;
  without.variable("w", Tensor::scalar(1.0f));
  const auto session = without.new_session("");
  Saver saver(options());
  EXPECT_THAT([&] { saver.save(*session, "d/model.ckpt", 1); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("no operations that save")));
}

// TensorFlow's operations set a variable to any shape that the file has.
TEST_F(SaverOperationsTest, ChecksShapesBeforeTheyRestore) {
  Saver saver(options());
  save_next_step(saver);
  ScriptedGraph other;
  other.variable("w", Tensor::from<float>({1, 2}));
  other.attach<internal::StateOperations>(operations_);
  const auto session = other.new_session("");
  EXPECT_THAT([&] { saver.restore(*session, "d/model.ckpt-1"); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("\"w\"")));
  other.variable("v", Tensor::from<float>({1, 2}));
  EXPECT_THROW(saver.restore(*session, "d/model.ckpt-1"), InvalidArgumentError);
  EXPECT_EQ(operations_->num_restores, 0);
}

TEST_F(SaverOperationsTest, AFileThatTheyDoNotFindIsDamage) {
  Saver saver(options());
  save_next_step(saver);
  operations_->fail = [] { throw NotFoundError("no data file"); };
  EXPECT_THAT([&] { saver.restore_newest(*session_, "d", "model.ckpt"); },
              ThrowsMessage<DataLossError>(HasSubstr("no data file")));
}

TEST_F(SaverOperationsTest, RestoreOnlyTheVariablesThatTheySave) {
  graph_.variable("other", Tensor::scalar(3.0f));
  const auto session = graph_.new_session("");
  operations_->left_out = "other";
  EXPECT_THAT([&] { Saver(options()).save(*session, "d/model.ckpt", 1); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("\"other\" (variable)")));
  EXPECT_THAT(files_.list(""), IsEmpty());
  SaverOptions lenient = options();
  lenient.unsaved_state = UnsavedState::kWarn;
  Saver saver(lenient);
  saver.save(*session, "d/model.ckpt", 1);
  EXPECT_FALSE(CheckpointReader("d/model.ckpt-1", files_).contains("other"));
  EXPECT_TRUE(log_.contains("lack state of the graph"));
  EXPECT_TRUE(log_.contains("\"other\" (variable)"));
  EXPECT_NO_THROW(saver.restore(*session, "d/model.ckpt-1"));
}

// State other than variables: saved by the operations if they can, otherwise refused.
TEST_F(SaverOperationsTest, SaveStateThatCrochetCannot) {
  const TempDirectory directory;
  BundleOperations operations(FileSystem::posix());
  graph_.attach<internal::StateOperations>(
      std::shared_ptr<BundleOperations>(&operations, [](auto*) {}));
  graph_.set_other_state({{"rows", "Table"}});
  Saver saver;
  EXPECT_NO_THROW(saver.check_complete(*session_));
  EXPECT_NE(saver.save(*session_, directory / "m", 1), "");
  EXPECT_EQ(operations.num_saves, 1);
  EXPECT_THAT([&] { Saver({.writer = StateWriter::kCrochet}).check_complete(*session_); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("\"rows\" (Table)")));

  operations.left_out = "rows";
  const auto is_refused = ThrowsMessage<FailedPreconditionError>(HasSubstr("\"rows\" (Table)"));
  EXPECT_THAT([&] { saver.check_complete(*session_); }, is_refused);
  EXPECT_THAT([&] { saver.save(*session_, directory / "m", 2); }, is_refused);
  EXPECT_THAT([&] { saver.snapshot(*session_); }, is_refused);
  EXPECT_THAT([&] { Saver({.writer = StateWriter::kGraph}).check_complete(*session_); },
              is_refused);
  EXPECT_FALSE(checkpoint_exists(FileSystem::posix(), directory / "m-2"));
}

TEST_F(SaverOperationsTest, RestoreCheckpointsThatCrochetWrote) {
  Saver({.files = &files_}).save(*session_, "d/model.ckpt", 5);
  Saver saver(options());
  saver.restore(*session_, "d/model.ckpt-5");
  EXPECT_EQ(operations_->num_restores, 1);
}

// With options that only crochet supports.
TEST_F(SaverOperationsTest, LeaveSpecialRestoresToCrochet) {
  Saver(options()).save(*session_, "d/model.ckpt", 1);
  Saver(options(), {.allow_missing = true}).restore(*session_, "d/model.ckpt-1");
  EXPECT_EQ(operations_->num_restores, 0);
}

TEST_F(SaverOperationsTest, ReportsThatTheDirectoryIsNotShared) {
  operations_->writes_elsewhere = true;
  Saver saver(options());
  EXPECT_THAT([&] { save_next_step(saver); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("must share the directory")));
}

TEST_F(SaverOperationsTest, RemovesFilesThatAreNotPublished) {
  Saver saver(options());
  internal::SaverAccess::snapshot_for(saver, *session_, "d/model.ckpt-1");
  EXPECT_THAT(files_.list("d"), IsEmpty());
}

TEST_F(SaverOperationsTest, ReplacesACheckpointWithAnotherNumberOfDataFiles) {
  internal::BundleWriter writer(files_, "d/model.ckpt-1");
  writer.add("w", Tensor::scalar(1.0f));
  writer.finish();
  Saver saver(options());
  save_next_step(saver);
  EXPECT_TRUE(files_.exists("d/model.ckpt-1.data-00001-of-00002"));
  EXPECT_FALSE(files_.exists("d/model.ckpt-1.data-00000-of-00001"));
}

TEST_F(SaverOperationsTest, PublishesNoTornSnapshot) {
  struct Torn final : PendingCopies {
    void wait() override {}
    void verify() const override { throw FailedPreconditionError("counter is of two steps"); }
  };
  Saver saver(options());
  const auto sound = std::make_shared<internal::SaveSource>(
      internal::SaverAccess::snapshot_for(saver, *session_, "d/model.ckpt-1"));
  const internal::SaveSource torn(Snapshot({}, std::make_shared<Torn>()),
                                  {sound, sound->external()});
  internal::SavePromise promise("d/model.ckpt-1", 1, clock_);
  EXPECT_THROW(internal::SaverAccess::write(saver, torn, promise), FailedPreconditionError);
  EXPECT_THAT(list_checkpoints(files_, "d", "model.ckpt"), IsEmpty());
}

TEST_F(SaverOperationsTest, LeavesNoSidecarOfASaveThatWasNotPublished) {
  graph_.set_meta_graph("the graph");
  Saver saver(options());
  save_next_step(saver);
  const std::vector<std::string> operations = failing_.operations();
  const auto graph_begins = std::ranges::find_if(operations, [](const std::string& operation) {
    return operation.starts_with("create d/model.ckpt-1.meta");
  });
  ASSERT_NE(graph_begins, operations.end());
  failing_.fail_operation_with_errno(
      failing_.num_operations() + (graph_begins - operations.begin()), EIO);
  EXPECT_THROW(save_next_step(saver), Error);
  EXPECT_THAT(failing_.failures(), ElementsAre(HasSubstr("d/model.ckpt-2.meta")));
  for (const std::string& name : files_.list("d"))
    EXPECT_FALSE(name.starts_with("model.ckpt-2")) << name;
}

// A failed save is handled like any other: it is logged and counted; a lost session is thrown.
TEST_F(SaverOperationsTest, AnErrorFailsTheSaveUnlessTheSessionIsLost) {
  Saver saver(options());
  operations_->fail = [] { throw ResourceExhaustedError("no room"); };
  const SaveTicket ticket = saver.save_async(*session_, "d/model.ckpt", 1);
  saver.wait();
  EXPECT_THAT([&] { ticket.wait(); }, ThrowsMessage<ResourceExhaustedError>("no room"));
  EXPECT_EQ(ticket.num_attempts(), 1);  // No later attempt could save this state.
  EXPECT_EQ(ticket.stage(), SaveStage::kSnapshotted);
  EXPECT_TRUE(log_.contains("retrying cannot help"));
  operations_->fail = [] { throw UnavailableError("ps 0 is gone"); };
  EXPECT_THROW(saver.save_async(*session_, "d/model.ckpt", 1), UnavailableError);
}

// Whichever operation of the disk fails, and whatever a power cut loses, the earlier checkpoint
// exists or the complete new one. With and without the state of objects, which is merged; with a
// new step, and one that has already been saved.
TEST_F(SaverOperationsTest, IsCompleteOrAbsentAfterAnyFailure) {
  for (const bool is_merged : {false, true}) {
    if (is_merged) add_counter();
    for (const int64_t step : {1, 2})
      for (const FailedWork work : {FailedWork::kNothing, FailedWork::kAll})
        for (int64_t n = 0; save_with_failures(step, work, n); ++n) continue;
  }
}

// A disk that fails once: the next attempt has all it needs.
TEST_F(SaverOperationsTest, IsWrittenByALaterAttempt) {
  add_counter();
  for (int64_t n = 0;; ++n) {
    MemoryFileSystem disk;
    FailingFileSystem files(disk);
    *operations_ = BundleOperations(disk);
    SaverOptions with = options();
    with.files = &files;
    Saver saver(with);
    const internal::SaveSource source =
        internal::SaverAccess::snapshot_for(saver, *session_, "d/model.ckpt-1");
    internal::SavePromise promise("d/model.ckpt-1", 1, clock_);
    const SaveTicket& ticket = promise.ticket();
    files.fail_operation_with_errno(files.num_operations() + n, EIO);
    for (int attempt = 0; attempt < 2 && ticket.stage() < SaveStage::kPublished; ++attempt) {
      try {
        internal::SaverAccess::write(saver, source, promise);
      } catch (const Error&) {
      }
    }
    // A failed sync or merge cannot be repeated: then the source reports that it is lost.
    const bool is_lost = source.is_lost();
    EXPECT_NE(ticket.stage() == SaveStage::kPublished, is_lost) << n;
    if (!is_lost) CheckpointReader("d/model.ckpt-1", disk).verify();
    if (files.num_failures() == 0) break;
  }
}

class OperationsFallbackTest : public SaverOperationsTest {
 protected:
  OperationsFallbackTest() { add_counter(); }
  SaverOptions options() {
    SaverOptions result = SaverOperationsTest::options();
    result.fallback_dir = "e";
    return result;
  }
  std::vector<std::string> in(const std::string& directory) {
    return list_checkpoints(files_, directory, "model.ckpt");
  }
};

TEST_F(OperationsFallbackTest, ReceivesWhatTheOperationsCannotWriteToTheOwnDirectory) {
  Saver saver(options());
  save_next_step(saver);
  std::vector<std::string> expected = files_.list("d");
  std::ranges::replace(expected, "model.ckpt.fallback", "model.ckpt.fallback-2");
  operations_->full_directories = {"d"};
  EXPECT_EQ(save_next_step(saver), "e/model.ckpt-2");
  EXPECT_EQ(files_.list("d"), expected);
  EXPECT_THAT(in("e"), ElementsAre("e/model.ckpt-2"));
  EXPECT_EQ(latest_checkpoint(files_, "d"), "d/model.ckpt-1");
  EXPECT_EQ(latest_checkpoint(files_, "e"), "e/model.ckpt-2");
  EXPECT_THAT(saver.last_checkpoints(), ElementsAre("d/model.ckpt-1"));
  EXPECT_TRUE(log_.contains("no room; trying the fallback directory after 1 attempt"));
  EXPECT_TRUE(log_.contains("d/model.ckpt-2 was written as e/model.ckpt-2"));
  const auto sidecar = read_sidecar(files_, "e/model.ckpt-2");
  ASSERT_TRUE(sidecar);
  EXPECT_EQ(sidecar->index_crc32c, internal::index_crc32c_of(files_, "e/model.ckpt-2"));
}

TEST_F(OperationsFallbackTest, IsRestoredFrom) {
  Saver saver(options());
  save_next_step(saver);
  operations_->full_directories = {"d"};
  save_next_step(saver);
  counter_->count = 0;
  const auto session = graph_.new_session("");
  EXPECT_THAT(saver.restore_newest(*session, "d", "model.ckpt"), RestoredFrom("e/model.ckpt-2"));
  EXPECT_EQ(operations_->num_restores, 1);
  EXPECT_EQ(counter_->count, 20);
  EXPECT_EQ(read_global_step(*session), 2);
  operations_->full_directories = {};
  save_next_step(saver);
  EXPECT_THAT(saver.restore_newest(*session, "d", "model.ckpt"), RestoredFrom("d/model.ckpt-3"));
}

TEST_F(OperationsFallbackTest, ItsTicketsAreLikeThoseOfCrochetsOwnSaves) {
  Saver saver(options());
  operations_->full_directories = {"d"};
  const SaveTicket ticket = saver.save_async(*session_, "d/model.ckpt", 7);
  saver.wait();
  EXPECT_EQ(ticket.stage(), SaveStage::kPublished);
  EXPECT_EQ(ticket.prefix(), "d/model.ckpt-7");
  EXPECT_EQ(ticket.location(), "e/model.ckpt-7");
  EXPECT_EQ(ticket.num_attempts(), 2);
  EXPECT_GT(ticket.num_bytes(), 0);
}

TEST_F(OperationsFallbackTest, KeepsItsOwnNewest) {
  Saver saver(options());
  operations_->full_directories = {"d"};
  for (int i = 0; i < 4; ++i) save_next_step(saver);
  EXPECT_THAT(in("e"), ElementsAre("e/model.ckpt-3", "e/model.ckpt-4"));
  EXPECT_THAT(in("d"), IsEmpty());
}

TEST_F(OperationsFallbackTest, TheFirstErrorIsThrownIfBothFail) {
  Saver saver(options());
  operations_->full_directories = {"d", "e"};
  EXPECT_THAT([&] { save_next_step(saver); },
              ThrowsMessage<ResourceExhaustedError>(HasSubstr("d/model.ckpt-1")));
  EXPECT_TRUE(log_.contains("saving d/model.ckpt-1 into the fallback directory failed, too: e/"));
  EXPECT_THAT(files_.list("d"), ElementsAre("model.ckpt.fallback"));
  EXPECT_THAT(files_.list("e"), IsEmpty());
}

// Not for a lost session, or files that this process cannot see.
TEST_F(OperationsFallbackTest, IsTriedOnlyIfItMayHelp) {
  Saver saver(options());
  operations_->fail = [] { throw UnavailableError("ps 0 is gone"); };
  EXPECT_THROW(save_next_step(saver), UnavailableError);
  EXPECT_EQ(operations_->num_saves, 1);
  operations_->fail = nullptr;
  operations_->writes_elsewhere = true;
  EXPECT_THROW(save_next_step(saver), FailedPreconditionError);
  EXPECT_EQ(operations_->num_saves, 2);
  EXPECT_FALSE(files_.exists("e"));
}

// Whichever operation fails after the own directory is full.
TEST_F(OperationsFallbackTest, IsCompleteOrAbsentAfterAnyFailure) {
  for (int64_t n = 0;; ++n) {
    MemoryFileSystem disk;
    FailingFileSystem files(disk);
    *operations_ = BundleOperations(files);
    SaverOptions with = options();
    with.files = &files;
    Saver saver(with);
    saver.save(*session_, "d/model.ckpt", 1);
    operations_->full_directories = {"d"};
    files.fail_operation_with_errno(files.num_operations() + n, EIO, Failing::kFromThenOn);
    std::string saved;
    try {
      saved = saver.save(*session_, "d/model.ckpt", 2);
    } catch (const Error&) {
    }
    EXPECT_THAT(files.violations(), IsEmpty()) << n;
    disk.power_cut({.names = n % 2 == 0 ? UnsyncedNames::kKept : UnsyncedNames::kLost});
    CheckpointReader("d/model.ckpt-1", disk).verify();
    const auto found =
        disk.exists("e") ? list_checkpoints(disk, "e", "model.ckpt") : std::vector<std::string>();
    for (const std::string& prefix : found) CheckpointReader(prefix, disk).verify();
    EXPECT_TRUE(saved.empty() || (saved == "e/model.ckpt-2" && found.size() == 1)) << n << saved;
    if (files.num_failures() == 0) break;
  }
}

TEST_F(SaverOperationsTest, LeftoversAreRemoved) {
  for (const char* const name :
       {"m-2.tempstate18.index", "m-2.tempstate18.data-00000-of-00001",
        "m-2.tempstate18.data-00000-of-00001.tempstate7", "m-2.tempstate18_temp/part-00000",
        "m-x.tempstate18_temp/part-00000", "m-2_temp/part-00000"}) {
    files_.create_directories(directory_of(join_path("d", name)));
    internal::put_file(files_, join_path("d", name), "x");
  }
  EXPECT_THAT(list_checkpoints(files_, "d", "m"), IsEmpty());
  remove_leftovers(files_, "d", "m");
  EXPECT_THAT(files_.list("d"), ElementsAre(".lock", "m-2_temp", "m-x.tempstate18_temp"));
}

}  // namespace
}  // namespace crochet
