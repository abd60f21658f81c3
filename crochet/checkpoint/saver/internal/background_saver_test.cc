// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/background_saver.h"

#include <algorithm>
#include <latch>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/testing/allocation_counter.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "tests/support/no_threads.h"
#include "tests/support/wait_until.h"

namespace crochet::internal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::ThrowsMessage;

// A clock whose sleeps end only when they are stopped.
class EndlessClock final : public Clock {
 public:
  TimePoint now() const override { return clock_.now(); }
  double wall_time() const override { return clock_.wall_time(); }
  bool sleep_for(Duration, const std::stop_token& stop) override {
    std::latch stopped(1);
    const std::stop_callback wake(stop, [&] { stopped.count_down(); });
    if (!std::exchange(has_slept_, true)) asleep.count_down();
    stopped.wait();
    return false;
  }

  std::latch asleep{1};

 private:
  FakeClock clock_;
  bool has_slept_ = false;
};

class BackgroundSaverTest : public testing::Test {
 protected:
  ~BackgroundSaverTest() override { set_pending_signal(0); }

  // Makes a step and enqueues it.
  SaveTicket save_next_step(BackgroundSaver& background) {
    session_->run(graph_.train());
    return background.enqueue(saver_.snapshot(*session_), "d/model.ckpt",
                              read_global_step(*session_));
  }
  std::vector<int64_t> finished_steps(BackgroundSaver& background) {
    std::vector<int64_t> steps;
    for (const SaveTicket& ticket : background.take_finished()) steps.push_back(ticket.step());
    return steps;
  }
  int64_t restored_step() {
    const auto session = graph_.new_session("");
    files_.stop_failing();
    saver_.restore_newest(*session, "d", "model.ckpt");
    return read_global_step(*session);
  }
  // All operations that change something fail from now on.
  void fail_from_now_on(Code code = Code::kResourceExhausted) {
    files_.fail_operation(files_.num_operations(), code, Failing::kFromThenOn);
  }

  LogCapture log_;
  MemoryFileSystem disk_;
  FailingFileSystem files_{disk_};
  FakeClock clock_;
  Saver saver_{{.files = &files_, .clock = &clock_}};
  ScriptedGraph graph_;
  std::unique_ptr<Session> session_ = graph_.new_session("");
};

TEST_F(BackgroundSaverTest, WritesAllSnapshotsInOrder) {
  BackgroundSaver background(saver_);
  EXPECT_THAT(background.take_finished(), IsEmpty());
  std::vector<SaveTicket> tickets;
  for (int i = 0; i < 5; ++i) tickets.push_back(save_next_step(background));
  background.wait();
  for (const SaveTicket& ticket : tickets) EXPECT_EQ(ticket.stage(), SaveStage::kPublished);
  EXPECT_THAT(finished_steps(background), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(finished_steps(background), IsEmpty());
  EXPECT_EQ(restored_step(), 5);
}

TEST_F(BackgroundSaverTest, FinishesSavesWhenDestroyed) {
  SaveTicket ticket = save_next_step(*std::make_unique<BackgroundSaver>(saver_));
  EXPECT_EQ(ticket.stage(), SaveStage::kPublished);
}

TEST_F(BackgroundSaverTest, MayBeDestroyedWithoutASave) { BackgroundSaver background(saver_); }

TEST_F(BackgroundSaverTest, WritesOnTheCallingThreadIfNoThreadCanBeStarted) {
  for (const auto overlap :
       {SaveOverlapPolicy::kWait, SaveOverlapPolicy::kNewestWins, SaveOverlapPolicy::kSkip}) {
    BackgroundSaver background(saver_, {.overlap = overlap});
    std::vector<SaveTicket> tickets;
    {
      const NoThreads none;
      for (int i = 0; i < 2; ++i) tickets.push_back(save_next_step(background));
    }
    for (const SaveTicket& ticket : tickets) EXPECT_EQ(ticket.stage(), SaveStage::kPublished);
    EXPECT_FALSE(background.busy());
    EXPECT_EQ(background.take_finished().size(), 2);
    save_next_step(background).wait();  // By a thread again.
    background.close(clock_.now() + std::chrono::seconds(1));
  }
  EXPECT_EQ(restored_step(), 9);
  EXPECT_TRUE(
      log_.contains("saving: cannot start a thread: Resource temporarily unavailable; "
                    "training waits while checkpoints are written"));
}

TEST_F(BackgroundSaverTest, RetriesOnTheCallingThread) {
  BackgroundSaver background(saver_);
  files_.fail_operation(files_.num_operations(), Code::kUnavailable, Failing::kOnce);
  const NoThreads none;
  const SaveTicket ticket = save_next_step(background);
  EXPECT_EQ(ticket.stage(), SaveStage::kPublished);
  EXPECT_EQ(ticket.num_attempts(), 2);
}

TEST_F(BackgroundSaverTest, RejectsANegativeNumberOfRetries) {
  EXPECT_THROW(BackgroundSaver(saver_, {.max_retries = -1}), InvalidArgumentError);
}

TEST_F(BackgroundSaverTest, RejectsAnInvalidProgressInterval) {
  EXPECT_THROW(BackgroundSaver(saver_, {.progress_log_secs = 0}), InvalidArgumentError);
}

// Copies that are made when the test allows it.
class HeldCopies final : public PendingCopies {
 public:
  void wait() override {
    waited_for.count_down();
    made.wait();
  }
  std::latch waited_for{1};
  std::latch made{1};
};

TEST_F(BackgroundSaverTest, SkipsASaveThatHasNotBegunForANewerOne) {
  const auto copies = std::make_shared<HeldCopies>();
  BackgroundSaver background(saver_, {.overlap = SaveOverlapPolicy::kNewestWins});
  EXPECT_FALSE(background.busy());
  const SaveTicket running = background.enqueue(
      Snapshot({{"global_step", Tensor::scalar<int64_t>(0)}}, copies), "d/model.ckpt", 0);
  copies->waited_for.wait();
  EXPECT_TRUE(background.busy());
  const SaveTicket given_up = save_next_step(background);
  const SaveTicket newest = save_next_step(background);
  EXPECT_EQ(background.num_superseded(), 1);
  EXPECT_THROW(given_up.wait(), CancelledError);
  copies->made.count_down();
  background.wait();
  EXPECT_EQ(running.stage(), SaveStage::kPublished);
  EXPECT_EQ(newest.stage(), SaveStage::kPublished);
  EXPECT_THAT(finished_steps(background), ElementsAre(0, 2));
  EXPECT_TRUE(log_.contains("d/model.ckpt-1 is skipped for d/model.ckpt-2"));
}

// What the snapshot reads in place may be written to again, however long that takes.
TEST_F(BackgroundSaverTest, EndsTheCopiesBeforeItRemovesCheckpoints) {
  struct NoCopies final : PendingCopies {
    void wait() override {}
  };
  auto copies = std::make_shared<NoCopies>();
  const std::weak_ptr<NoCopies> snapshot = copies;
  int num_asked = 0;
  const RetentionPolicy policy = [&](const CheckpointRecord&, const RetentionContext&) {
    EXPECT_TRUE(snapshot.expired());
    ++num_asked;
    return Retention::kKeep;
  };
  Saver saver({.retention = {policy}, .files = &files_, .clock = &clock_});
  BackgroundSaver background(saver);
  const std::vector<NamedTensor> state = {{"global_step", Tensor::scalar<int64_t>(0)}};
  background.enqueue(Snapshot(state), "d/model.ckpt", 0);
  background.enqueue(Snapshot(state, std::exchange(copies, nullptr)), "d/model.ckpt", 1);
  background.wait();
  EXPECT_GT(num_asked, 0);
}

TEST_F(BackgroundSaverTest, LogsWhatItIsWaitingFor) {
  const auto copies = std::make_shared<HeldCopies>();
  BackgroundSaver background(saver_, {.progress_log_secs = 0.001});
  background.enqueue(Snapshot({{"global_step", Tensor::scalar<int64_t>(0)}}, copies),
                     "d/model.ckpt", 0);
  std::thread waiter([&] { background.wait(); });
  wait_until("a line in the log",
             [this] { return log_.contains("waiting for a checkpoint to be written"); });
  copies->made.count_down();
  waiter.join();
}

TEST_F(BackgroundSaverTest, RetriesWithNewFiles) {
  BackgroundSaver background(saver_);
  const Clock::TimePoint start = clock_.now();
  files_.fail_operation(files_.num_operations() + 3, Code::kResourceExhausted);
  const SaveTicket ticket = save_next_step(background);
  background.wait();
  EXPECT_EQ(files_.num_failures(), 1);
  EXPECT_EQ(ticket.stage(), SaveStage::kPublished);
  EXPECT_EQ(ticket.error(), nullptr);
  EXPECT_DOUBLE_EQ(to_seconds(clock_.now() - start), 1);
  EXPECT_TRUE(log_.contains("next attempt in 1 s"));
  EXPECT_EQ(restored_step(), 1);
}

// After a failed fsync it is unknown what part of the file is on disk, and a second one may
// succeed regardless.
TEST_F(BackgroundSaverTest, DoesNotSyncAFileAgainAfterAFailedSync) {
  const auto syncs = [this] {
    std::vector<std::string> found;
    for (const std::string& operation : files_.operations())
      if (operation.starts_with("sync d/model.ckpt-")) found.push_back(operation);
    return found;
  };
  BackgroundSaver background(saver_);
  save_next_step(background);
  background.wait();
  const std::vector<std::string> operations = files_.operations();
  const auto first_sync = std::ranges::find_if(operations, [](const std::string& operation) {
    return operation.starts_with("sync d/model.ckpt-1.data-");
  });
  ASSERT_NE(first_sync, operations.end());
  const auto offset = first_sync - std::ranges::find_if(operations, [](const std::string& name) {
                        return name.starts_with("create_large d/model.ckpt-1.data-");
                      });
  files_.fail_operation(files_.num_operations() + offset, Code::kUnknown);
  const SaveTicket ticket = save_next_step(background);
  background.wait();
  EXPECT_EQ(ticket.stage(), SaveStage::kPublished);
  EXPECT_EQ(ticket.num_attempts(), 2);
  EXPECT_TRUE(log_.contains("saving d/model.ckpt-2 failed: sync d/model.ckpt-2.data-"));
  const std::vector<std::string> all = syncs();
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
}

// A durable checkpoint is not put at risk by another attempt.
TEST_F(BackgroundSaverTest, DoesNotRewriteADurableCheckpoint) {
  const auto is_state = [](const std::string& operation) {
    return operation.starts_with("create d/checkpoint.tmp");
  };
  BackgroundSaver background(saver_);
  save_next_step(background);
  background.wait();
  const std::vector<std::string> operations = files_.operations();
  const auto state = std::ranges::find_if(operations, is_state);
  const auto begin = std::ranges::find_if(operations, [](const std::string& name) {
    return name.starts_with("create_large d/model.ckpt-1.data-");
  });
  ASSERT_NE(state, operations.end());
  const int64_t before = files_.num_operations();
  files_.fail_operation(before + (state - begin), Code::kUnknown);
  const SaveTicket ticket = save_next_step(background);
  background.wait();
  EXPECT_EQ(ticket.stage(), SaveStage::kPublished);
  EXPECT_EQ(ticket.num_attempts(), 2);
  EXPECT_EQ(files_.num_failures(), 1);
  const std::vector<std::string> all = files_.operations();
  EXPECT_EQ(std::count_if(all.begin() + before, all.end(),
                          [](const std::string& name) {
                            return name.starts_with("create_large d/model.ckpt-2.data-");
                          }),
            1);
  EXPECT_EQ(std::count_if(all.begin() + before, all.end(), is_state), 2);
  EXPECT_EQ(restored_step(), 2);
}

TEST_F(BackgroundSaverTest, AbandonsASaveAfterMaxRetries) {
  BackgroundSaver background(saver_);
  const Clock::TimePoint start = clock_.now();
  fail_from_now_on();
  const SaveTicket ticket = save_next_step(background);
  background.wait();
  EXPECT_THAT([&] { ticket.wait(); },
              ThrowsMessage<ResourceExhaustedError>(testing::HasSubstr("failed on demand")));
  EXPECT_DOUBLE_EQ(to_seconds(clock_.now() - start), 1 + 2 + 4);
  EXPECT_TRUE(log_.contains("abandoned after 4 attempts"));
  EXPECT_THAT(finished_steps(background), ElementsAre(1));
}

TEST_F(BackgroundSaverTest, ContinuesAfterAFailedSave) {
  BackgroundSaver background(saver_, {.max_retries = 0});
  fail_from_now_on();
  save_next_step(background);
  background.wait();
  files_.stop_failing();
  save_next_step(background);
  background.wait();
  EXPECT_THAT(finished_steps(background), ElementsAre(1, 2));
  EXPECT_EQ(restored_step(), 2);
}

TEST_F(BackgroundSaverTest, ANewerSaveEndsTheWaitForARetryButNotTheSave) {
  EndlessClock clock;
  Saver saver({.files = &files_, .clock = &clock});
  BackgroundSaver background(saver);
  fail_from_now_on();
  const SaveTicket older = save_next_step(background);
  clock.asleep.wait();
  files_.stop_failing();
  const SaveTicket newer = save_next_step(background);
  background.wait();
  EXPECT_EQ(older.stage(), SaveStage::kPublished);
  EXPECT_EQ(older.num_attempts(), 2);
  EXPECT_EQ(newer.stage(), SaveStage::kPublished);
  EXPECT_EQ(restored_step(), 2);
}

TEST_F(BackgroundSaverTest, ANewerSaveMakesTheNextAttemptTheLast) {
  EndlessClock clock;
  Saver saver({.files = &files_, .clock = &clock});
  BackgroundSaver background(saver);
  fail_from_now_on();
  const SaveTicket older = save_next_step(background);
  clock.asleep.wait();
  const SaveTicket newer = save_next_step(background);
  EXPECT_THROW(older.wait(), ResourceExhaustedError);
  EXPECT_EQ(older.num_attempts(), 2);
  EXPECT_EQ(older.fault(), SaveFault::kPlace);
  files_.stop_failing();
  background.close(clock.now() + std::chrono::seconds(60));
  EXPECT_EQ(newer.stage(), SaveStage::kPublished);
}

TEST_F(BackgroundSaverTest, ACallerMayEndItsWaitForATurn) {
  EndlessClock clock;
  Saver saver({.files = &files_, .clock = &clock});
  BackgroundSaver background(saver);
  fail_from_now_on();
  const SaveTicket older = save_next_step(background);
  clock.asleep.wait();
  const auto interrupt = [&] {
    files_.stop_failing();
    throw CancelledError("Ctrl-C");
  };
  EXPECT_THROW(background.wait_for_turn(interrupt), CancelledError);
  older.wait();
  EXPECT_EQ(older.num_attempts(), 2);
}

TEST_F(BackgroundSaverTest, DoesNotRetryIfASignalIsPending) {
  BackgroundSaver background(saver_);
  const Clock::TimePoint start = clock_.now();
  set_pending_signal(15);
  fail_from_now_on();
  const SaveTicket ticket = save_next_step(background);
  background.wait();
  EXPECT_THROW(ticket.wait(), ResourceExhaustedError);
  EXPECT_EQ(clock_.now(), start);
}

// A clock during whose first sleep a signal arrives.
class SignallingClock final : public Clock {
 public:
  TimePoint now() const override { return clock_.now(); }
  double wall_time() const override { return clock_.wall_time(); }
  bool sleep_for(Duration duration, const std::stop_token& stop) override {
    set_pending_signal(15);
    return clock_.sleep_for(duration, stop);
  }

 private:
  FakeClock clock_;
};

TEST_F(BackgroundSaverTest, RetriesOnceWhenASignalArrivesDuringTheWait) {
  SignallingClock clock;
  Saver saver({.files = &files_, .clock = &clock});
  BackgroundSaver background(saver);
  const Clock::TimePoint start = clock.now();
  files_.fail_operation(files_.num_operations(), Code::kResourceExhausted);
  const SaveTicket ticket = save_next_step(background);
  background.wait();
  EXPECT_EQ(ticket.stage(), SaveStage::kPublished);
  EXPECT_LT(to_seconds(clock.now() - start), 0.5);
}

// Copies of which one function always fails.
class FailedCopies final : public PendingCopies {
 public:
  enum class Call { kWait, kVerify };
  FailedCopies(Call failing, Code code) : failing_(failing), code_(code) {}
  void wait() override { throw_if(Call::kWait); }
  void verify() const override { throw_if(Call::kVerify); }

 private:
  void throw_if(Call call) const {
    if (call == failing_) throw_error(code_, "the array moved");
  }
  const Call failing_;
  const Code code_;
};

TEST_F(BackgroundSaverTest, ReportsAFailedSnapshot) {
  BackgroundSaver background(saver_, {.max_retries = 0});
  const SaveTicket ticket = background.enqueue(
      Snapshot(
          {{"a", Tensor::scalar(1.0f)}},
          std::make_shared<FailedCopies>(FailedCopies::Call::kWait, Code::kFailedPrecondition)),
      "d/model.ckpt", 1);
  EXPECT_THAT([&] { ticket.wait(); }, ThrowsMessage<FailedPreconditionError>("the array moved"));
}

TEST_F(BackgroundSaverTest, TriesASnapshotThatCannotBeSavedOnce) {
  using enum Code;
  disk_.create_directories("d");
  for (const auto call : {FailedCopies::Call::kWait, FailedCopies::Call::kVerify})
    for (const Code code : {kFailedPrecondition, kInvalidArgument, kUnimplemented}) {
      SCOPED_TRACE(code_name(code));
      const LogCapture log;
      BackgroundSaver background(saver_);
      const Clock::TimePoint start = clock_.now();
      const SaveTicket ticket = background.enqueue(
          Snapshot({{"a", Tensor::scalar(1.0f)}}, std::make_shared<FailedCopies>(call, code)),
          "d/model.ckpt", 1);
      background.wait();
      EXPECT_EQ(ticket.num_attempts(), 1);
      EXPECT_EQ(ticket.fault(), SaveFault::kThisSave);
      EXPECT_EQ(clock_.now(), start);
      ASSERT_NE(ticket.error(), nullptr);
      EXPECT_EQ(describe(ticket.error()), "the array moved");
      EXPECT_THAT(log.lines(), ElementsAre(testing::AllOf(
                                   testing::HasSubstr("saving d/model.ckpt-1 failed: the array "),
                                   testing::HasSubstr("retrying cannot help"))));
      EXPECT_THAT(finished_steps(background), ElementsAre(1));
      EXPECT_THAT(disk_.list("d"), IsEmpty());
    }
}

// The end of a failed save needs no memory: nothing that fails on the thread ends the process.
TEST_F(BackgroundSaverTest, SurvivesEachAllocationThatFails) {
  Saver saver({.files = &disk_, .clock = &clock_});
  int64_t num_failed = 0;
  for (const int64_t length : {1, 40}) {
    for (int64_t first = 0;; ++first) {
      const LogCapture log;
      BackgroundSaver background(saver);
      session_->run(graph_.train());
      Snapshot snapshot = saver.snapshot(*session_);
      const int64_t step = read_global_step(*session_);
      int64_t count = 0;
      std::optional<SaveTicket> ticket;
      const std::string path = fmt::format("d{}/{}/model.ckpt", length, first);
      {
        const FailingAllocations failing(first, length);
        // A directory of its own: to list what failed saves have left costs allocations.
        ticket = background.enqueue(std::move(snapshot), path, step);
        ticket->wait_finished();
        background.wait();
        count = failing.count();
      }
      num_failed += ticket->error() ? 1 : 0;
      EXPECT_THAT(finished_steps(background), ElementsAre(step));
      if (count <= first) break;
      ASSERT_LT(first, 20'000);
    }
  }
  EXPECT_GT(num_failed, 0);
  BackgroundSaver background(saver);
  session_->run(graph_.train());
  const SaveTicket ticket =
      background.enqueue(saver.snapshot(*session_), "d/model.ckpt", read_global_step(*session_));
  ticket.wait();
  EXPECT_EQ(restored_step(), ticket.step());
}

// Then the location is wrong, and may soon be right.
TEST_F(BackgroundSaverTest, RetriesIfTheDirectoryIsAFile) {
  disk_.create("file")->close();
  BackgroundSaver background(saver_);
  const SaveTicket ticket = background.enqueue(saver_.snapshot(*session_), "file/model.ckpt", 1);
  background.wait();
  EXPECT_THROW(ticket.wait(), InvalidArgumentError);
  EXPECT_EQ(ticket.num_attempts(), 4);
}

}  // namespace
}  // namespace crochet::internal
