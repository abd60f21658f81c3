// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/saver.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/command_line.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/saver/internal/save_promise.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/checkpoint/saver/internal/saver_access.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "tests/support/saved_counter.h"

namespace crochet {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing::ThrowsMessage;

class SaverTest : public testing::Test {
 protected:
  SaverTest() {
    graph_.variable("w", Tensor::from<float>({1, 2, 3, 4}, {2, 2}));
    graph_.add_saveable({.name = "counter", .object = counter_});
  }
  ~SaverTest() override { set_pending_signal(0); }

  // Trains one step and saves it together with the counter.
  void save_next_step(Saver& saver) {
    session_->run(graph_.train());
    const int64_t step = read_global_step(*session_);
    counter_->count = 10 * step;
    saver.save(*session_, "d/model.ckpt", step);
  }
  void save_steps(Saver& saver, int number) {
    for (int i = 0; i < number; ++i) save_next_step(saver);
  }

  // The step that a new process restores, or -1 for none.
  int64_t restored_step(Saver& saver) {
    const auto session = graph_.new_session("");
    counter_->count = 0;
    if (!saver.restore_newest(*session, "d", "model.ckpt")) return -1;
    const int64_t step = read_global_step(*session);
    EXPECT_EQ(counter_->count, 10 * step);
    return step;
  }

  void damage(const std::string& path) {
    std::string bytes = read_file(files_, path);
    bytes[bytes.size() / 2] ^= 1;
    files_.create(path)->append(bytes);
  }
  void damage_step(int64_t step) {
    damage(fmt::format("d/model.ckpt-{}.data-00000-of-00001", step));
  }

  LogCapture log_;
  MemoryFileSystem files_;
  FakeClock clock_{1'700'000'000};
  ScriptedGraph graph_;
  std::shared_ptr<SavedCounter> counter_ = std::make_shared<SavedCounter>();
  std::unique_ptr<Session> session_ = graph_.new_session("");
  Saver saver_{{.files = &files_, .clock = &clock_}};
};

TEST_F(SaverTest, RejectsANegativeNumberToKeep) {
  EXPECT_THAT([] { Saver({.max_to_keep = -1}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("max_to_keep is -1")));
}

TEST_F(SaverTest, RestoresWhatItSaved) {
  save_next_step(saver_);
  EXPECT_EQ(restored_step(saver_), 1);
  EXPECT_THAT(files_.list("d"), ElementsAre("checkpoint", "model.ckpt-1.data-00000-of-00001",
                                            "model.ckpt-1.index", "model.ckpt-1.json"));
}

TEST_F(SaverTest, ReturnsThePrefix) {
  EXPECT_EQ(saver_.save(*session_, "d/model.ckpt", 7), "d/model.ckpt-7");
  const auto session = graph_.new_session("");
  saver_.restore(*session, "d/model.ckpt-7");
  EXPECT_THROW(saver_.restore(*session, "d/model.ckpt-8"), InvalidArgumentError);
}

TEST_F(SaverTest, WritesASidecar) {
  save_next_step(saver_);
  const auto sidecar = read_sidecar(files_, "d/model.ckpt-1");
  ASSERT_TRUE(sidecar);
  EXPECT_EQ(sidecar->step, 1);
  EXPECT_EQ(sidecar->unix_time, 1'700'000'000);
  EXPECT_EQ(sidecar->index_crc32c,
            internal::mask_crc32c(internal::crc32c(read_file(files_, "d/model.ckpt-1.index"))));
  EXPECT_EQ(sidecar->size_bytes, files_.file_size("d/model.ckpt-1.index") +
                                     files_.file_size("d/model.ckpt-1.data-00000-of-00001"));
  EXPECT_EQ(sidecar->command_line, internal::own_command_line());
}

TEST_F(SaverTest, RecordsNoCommandLineIfSwitchedOff) {
  Saver saver({.record_command_line = false, .files = &files_});
  save_next_step(saver);
  EXPECT_THAT(read_sidecar(files_, "d/model.ckpt-1")->command_line, testing::IsEmpty());
}

TEST_F(SaverTest, KeepsTheNewestAndNamesThemInTheStateFile) {
  Saver saver({.max_to_keep = 2, .files = &files_});
  save_steps(saver, 4);
  EXPECT_THAT(saver.last_checkpoints(), ElementsAre("d/model.ckpt-3", "d/model.ckpt-4"));
  EXPECT_THAT(list_checkpoints(files_, "d", "model.ckpt"),
              ElementsAre("d/model.ckpt-3", "d/model.ckpt-4"));
  EXPECT_THAT(files_.list("d"), testing::SizeIs(9));  // Including two lock files.
  const auto state = get_checkpoint_state(files_, "d");
  EXPECT_EQ(state->model_checkpoint_path, "d/model.ckpt-4");
  EXPECT_THAT(state->all_model_checkpoint_paths, ElementsAre("d/model.ckpt-3", "d/model.ckpt-4"));
}

TEST_F(SaverTest, KeepsAllWithoutALimit) {
  Saver saver({.max_to_keep = 0, .files = &files_});
  save_steps(saver, 12);
  EXPECT_EQ(list_checkpoints(files_, "d", "model.ckpt").size(), 12);
}

TEST_F(SaverTest, CountsARewrittenCheckpointOnce) {
  Saver saver({.max_to_keep = 2, .files = &files_});
  save_steps(saver, 2);
  saver.save(*session_, "d/model.ckpt", 1);
  EXPECT_THAT(saver.last_checkpoints(), ElementsAre("d/model.ckpt-2", "d/model.ckpt-1"));
  EXPECT_EQ(list_checkpoints(files_, "d", "model.ckpt").size(), 2);
}

TEST_F(SaverTest, CountsEarlierCheckpointsAfterARestart) {
  save_steps(saver_, 3);
  Saver restarted({.max_to_keep = 2, .files = &files_});
  EXPECT_EQ(restored_step(restarted), 3);
  save_next_step(restarted);
  EXPECT_THAT(list_checkpoints(files_, "d", "model.ckpt"),
              ElementsAre("d/model.ckpt-3", "d/model.ckpt-4"));
}

TEST_F(SaverTest, FindsNothingInAnEmptyOrMissingDirectory) {
  EXPECT_EQ(restored_step(saver_), -1);
  files_.create_directories("d");
  EXPECT_EQ(restored_step(saver_), -1);
  EXPECT_EQ(counter_->count, 0);
}

TEST_F(SaverTest, ChoosesTheNewestByItsStepRegardlessOfTheStateFile) {
  save_steps(saver_, 11);
  update_checkpoint_state(files_, "d", "d/model.ckpt-9");
  EXPECT_EQ(restored_step(saver_), 11);
}

TEST_F(SaverTest, DoesNotStartAfreshIfTheListedCheckpointIsMissing) {
  save_steps(saver_, 1);
  remove_checkpoint(files_, "d/model.ckpt-1");
  EXPECT_THAT([&] { restored_step(saver_); },
              ThrowsMessage<DataLossError>(HasSubstr("d/model.ckpt-1")));
}

TEST_F(SaverTest, FallsBackToTheNewestSoundCheckpoint) {
  save_steps(saver_, 4);
  const internal::DirectoryLock lock(files_, "d");  // A run holds it.
  damage_step(4);
  damage_step(3);
  EXPECT_EQ(restored_step(saver_), 2);
  EXPECT_TRUE(log_.contains("checkpoint d/model.ckpt-4 cannot be used"));
  EXPECT_THAT(list_checkpoints(files_, "d", "model.ckpt"),
              ElementsAre("d/model.ckpt-1", "d/model.ckpt-2"));
  EXPECT_THAT(files_.list("d"), Contains("model.ckpt-4.index.damaged"));
  EXPECT_THAT(files_.list("d"), Contains("model.ckpt-3.data-00000-of-00001.damaged"));
  EXPECT_EQ(latest_checkpoint(files_, "d"),
            "d/model.ckpt-2");  // For readers of the state file.
  EXPECT_EQ(restored_step(saver_), 2);
}

// C3: an evaluator with a read error must not rename the chief's checkpoint.
TEST_F(SaverTest, AReaderThatFindsDamageChangesNothing) {
  save_steps(saver_, 3);
  damage_step(3);
  const std::vector<std::string> names = files_.list("d");
  const std::string state = read_file(files_, "d/checkpoint");
  EXPECT_EQ(restored_step(saver_), 2);
  EXPECT_EQ(files_.list("d"), names);
  EXPECT_EQ(read_file(files_, "d/checkpoint"), state);
  const auto chief = files_.try_lock("d/.lock");  // Stands for another process.
  EXPECT_EQ(restored_step(saver_), 2);
  EXPECT_EQ(read_file(files_, "d/checkpoint"), state);
}

// C9: a chief may remove a listed checkpoint, for a newer one, before it is opened.
TEST_F(SaverTest, ListsAgainIfAListedCheckpointWasRemoved) {
  class VanishingFiles final : public MemoryFileSystem {
   public:
    std::function<void()> before_open;
    std::unique_ptr<ReadableFile> open(const std::string& path) override {
      if (path == "d/model.ckpt-1.index" && before_open) std::exchange(before_open, {})();
      return MemoryFileSystem::open(path);
    }
  };
  VanishingFiles files;
  Saver chief({.max_to_keep = 1, .files = &files});
  Saver reader({.files = &files});
  save_steps(chief, 1);
  files.before_open = [&] { save_next_step(chief); };
  EXPECT_EQ(restored_step(reader), 2);
}

// B9
TEST_F(SaverTest, RejectsASavePathWithoutAName) {
  for (const char* const path : {"", "d/", "/", ".", "..", "d/.."}) {
    EXPECT_THROW(saver_.save(*session_, path), InvalidArgumentError) << path;
    EXPECT_THROW(saver_.save(*session_, path, 1), InvalidArgumentError) << path;
  }
  EXPECT_THAT(files_.list(""), testing::IsEmpty());
}

// C7: a run that was resumed from an older checkpoint reaches a step that is pinned.
TEST_F(SaverTest, NeverReplacesAPinnedCheckpoint) {
  save_steps(saver_, 2);
  saver_.pin("d/model.ckpt-1");
  const std::string data = read_file(files_, "d/model.ckpt-1.data-00000-of-00001");
  saver_.save(*session_, "d/model.ckpt", 1);  // The state has changed since.
  EXPECT_EQ(read_file(files_, "d/model.ckpt-1.data-00000-of-00001.replaced"), data);
  EXPECT_TRUE(files_.exists("d/model.ckpt-1.index.replaced"));
  EXPECT_TRUE(read_sidecar(files_, "d/model.ckpt-1"));
  EXPECT_FALSE(read_sidecar(files_, "d/model.ckpt-1")->pinned);
}

// B3: run A's directory is moved away, and run B starts in a new one of that name.
TEST_F(SaverTest, SavesNothingToADirectoryThatItHasNotLocked) {
  std::optional<internal::DirectoryLock> a(std::in_place, files_, "d");
  save_steps(saver_, 1);
  files_.rename("d", "old");
  EXPECT_THROW(save_next_step(saver_), FailedPreconditionError);
  EXPECT_FALSE(files_.exists("d"));
  const internal::DirectoryLock b(files_, "d");
  const auto names = files_.list("d");
  EXPECT_THROW(save_next_step(saver_), FailedPreconditionError);
  EXPECT_EQ(files_.list("d"), names);
  EXPECT_THAT(list_checkpoints(files_, "old", "model.ckpt"), ElementsAre("old/model.ckpt-1"));
}

// D2: policies are the user's functions, which may call the saver, and save.
TEST_F(SaverTest, PoliciesMayCallTheSaver) {
  int depth = 0, calls = 0;
  Saver* known = nullptr;
  const auto policy = [&](const CheckpointRecord& checkpoint, const RetentionContext&) {
    ++calls;
    if (depth > 0) return Retention::kKeep;
    ++depth;
    known->last_checkpoints();
    known->fallback_dir();
    known->record_metrics_later(checkpoint.prefix, {{"loss", 1}});
    known->record_metrics(checkpoint.prefix, {{"loss", 2}});
    known->write_noted_metrics();
    known->pin(checkpoint.prefix);
    known->unpin(checkpoint.prefix);
    known->save(*session_, "d/other", 77);
    known->restore(*graph_.new_session(""), checkpoint.prefix);
    known->restore_newest(*graph_.new_session(""), "d", "model.ckpt");
    --depth;
    return Retention::kRemove;
  };
  Saver saver({.max_to_keep = 1, .retention = {policy}, .files = &files_});
  known = &saver;
  save_steps(saver, 3);
  EXPECT_GT(calls, 0);
  // The policy's own save was published last, and again after it was asked about the former one.
  EXPECT_EQ(latest_checkpoint(files_, "d"), "d/other-77");
  EXPECT_TRUE(checkpoint_exists(files_, "d/other-77"));
  EXPECT_TRUE(checkpoint_exists(files_, "d/model.ckpt-3"));
}

TEST_F(SaverTest, TreatsMissingFilesAsDamage) {
  save_steps(saver_, 2);
  files_.remove("d/model.ckpt-2.data-00000-of-00001");
  EXPECT_EQ(restored_step(saver_), 1);
}

TEST_F(SaverTest, ChangesNothingIfNoCheckpointIsSound) {
  save_steps(saver_, 2);
  damage_step(1);
  damage("d/model.ckpt-2.index");
  const std::vector<std::string> names = files_.list("d");
  EXPECT_THAT([&] { restored_step(saver_); },
              ThrowsMessage<DataLossError>(AllOf(HasSubstr("none of its 2 checkpoints is sound"),
                                                 HasSubstr("d/model.ckpt-2"))));
  EXPECT_EQ(files_.list("d"), names);
}

TEST_F(SaverTest, RestoresNoWrongValueFromAFlippedByte) {
  save_steps(saver_, 2);
  const std::vector<NamedTensor> saved = session_->snapshot(graph_.variables()).tensors();
  int64_t unnoticed = 0;
  for (const char* const path : {"d/model.ckpt-2.index", "d/model.ckpt-2.data-00000-of-00001"}) {
    const std::string good = read_file(files_, path);
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] ^= 0x10;
      files_.create(path)->append(bad);
      const auto session = graph_.new_session("");
      try {
        saver_.restore(*session, "d/model.ckpt-2");
      } catch (const DataLossError&) {
        continue;
      }
      ++unnoticed;
      const Snapshot restored = session->snapshot(graph_.variables());
      ASSERT_EQ(restored.tensors().size(), saved.size());
      for (size_t k = 0; k < saved.size(); ++k)
        EXPECT_EQ(restored.tensors()[k].tensor, saved[k].tensor) << path << ", byte " << i;
    }
    files_.create(path)->append(good);
  }
  EXPECT_LT(unnoticed, 48);  // The padding of the table's footer has no meaning.
  EXPECT_EQ(restored_step(saver_), 2);
}

TEST_F(SaverTest, RestoresEvenIfTheDamagedOneCannotBeSetAside) {
  save_steps(saver_, 2);
  damage_step(2);
  const internal::DirectoryLock lock(files_, "d");
  for (const Code code : {Code::kPermissionDenied, Code::kNotFound}) {
    FailingFileSystem read_only(files_);
    read_only.fail_operation(0, code, Failing::kFromThenOn);
    Saver saver({.files = &read_only});
    EXPECT_EQ(restored_step(saver), 1);
    EXPECT_TRUE(log_.contains("cannot be set aside"));
    log_.clear();
  }
}

TEST_F(SaverTest, StopsRestoringOnASignal) {
  save_steps(saver_, 1);
  set_pending_signal(15);
  EXPECT_THAT([&] { restored_step(saver_); }, ThrowsMessage<CancelledError>(HasSubstr("SIGTERM")));
}

TEST_F(SaverTest, ThrowsErrorsOtherThanDamage) {
  save_steps(saver_, 2);
  counter_->count = 7;
  ScriptedGraph other;
  const auto session = other.new_session("");
  EXPECT_THROW(saver_.restore_newest(*session, "d", "model.ckpt"), InvalidArgumentError);
  EXPECT_THAT(files_.list("d"), Not(Contains(HasSubstr("damaged"))));
}

TEST_F(SaverTest, LeavesNoFileOfAFailedSave) {
  save_next_step(saver_);
  const std::vector<std::string> before = files_.list("d");
  for (int64_t n = 0;; ++n) {
    FailingFileSystem failing(files_);
    failing.fail_operation(n, Code::kResourceExhausted);
    Saver saver({.files = &failing});
    bool failed = false;
    try {
      saver.save(*session_, "d/model.ckpt", 2);
    } catch (const ResourceExhaustedError&) {
      failed = true;
    }
    if (failing.num_failures() == 0) break;  // Each operation has failed once.
    ASSERT_TRUE(failed || log_.contains("failed on demand")) << failing.operations().back();
    if (!checkpoint_exists(files_, "d/model.ckpt-2")) {
      EXPECT_EQ(files_.list("d"), before) << n;
    }
    const auto session = graph_.new_session("");
    EXPECT_NO_THROW(saver_.restore(*session, "d/model.ckpt-1")) << n;
    remove_checkpoint(files_, "d/model.ckpt-2");
    update_checkpoint_state(files_, "d", "d/model.ckpt-1");
  }
}

TEST_F(SaverTest, RetriesAFailedRemovalAtTheNextSave) {
  FailingFileSystem failing(files_);
  Saver saver({.max_to_keep = 1, .files = &failing});
  save_next_step(saver);
  // The number of that operation within a save, found on another disk.
  const int64_t first = failing.num_operations();
  int64_t removal = -1;
  {
    MemoryFileSystem rehearsal_files;
    FailingFileSystem rehearsal(rehearsal_files);
    Saver rehearsed({.max_to_keep = 1, .files = &rehearsal});
    rehearsed.save(*session_, "d/model.ckpt", 1);
    const int64_t start = rehearsal.num_operations();
    rehearsed.save(*session_, "d/model.ckpt", 2);
    const std::vector<std::string> operations = rehearsal.operations();
    for (auto i = static_cast<size_t>(start); i < operations.size() && removal < 0; ++i)
      if (operations[i] == "remove d/model.ckpt-1.index") removal = static_cast<int64_t>(i) - start;
  }
  ASSERT_GE(removal, 0);
  failing.fail_operation(first + removal, Code::kPermissionDenied);
  save_next_step(saver);
  EXPECT_EQ(failing.num_failures(), 1);
  EXPECT_TRUE(log_.contains("d/model.ckpt-1"));
  EXPECT_EQ(list_checkpoints(files_, "d", "model.ckpt").size(), 2);
  save_next_step(saver);
  EXPECT_THAT(list_checkpoints(files_, "d", "model.ckpt"), ElementsAre("d/model.ckpt-3"));
}

TEST_F(SaverTest, ATornSnapshotIsAnErrorAndWritesNoFile) {
  struct Torn final : PendingCopies {
    void wait() override {}
    void verify() const override { throw FailedPreconditionError("w is of two steps"); }
  };
  const Snapshot snapshot({{"w", Tensor::scalar(1.0f)}}, std::make_shared<Torn>());
  internal::SavePromise promise("d/model.ckpt-5", 5, clock_);
  EXPECT_THROW(internal::SaverAccess::write(saver_, snapshot, promise), FailedPreconditionError);
  EXPECT_LT(promise.ticket().stage(), SaveStage::kDurable);
  EXPECT_THAT(files_.list("d"), IsEmpty());
}

TEST_F(SaverTest, ReportsTheStagesOfASave) {
  internal::SavePromise promise("d/model.ckpt-5", 5, clock_);
  internal::SaverAccess::write(saver_, saver_.snapshot(*session_), promise);
  EXPECT_EQ(promise.ticket().stage(), SaveStage::kPublished);
  EXPECT_TRUE(promise.ticket().finished());
  FailingFileSystem failing(files_);
  Saver saver({.files = &failing});
  internal::SavePromise failed("d/model.ckpt-6", 6, clock_);
  failing.fail_operation(failing.num_operations(), Code::kResourceExhausted, Failing::kFromThenOn);
  EXPECT_THROW(internal::SaverAccess::write(saver, saver.snapshot(*session_), failed),
               ResourceExhaustedError);
  EXPECT_EQ(failed.ticket().stage(), SaveStage::kSnapshotted);
}

}  // namespace
}  // namespace crochet
