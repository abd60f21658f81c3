// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Saves that are not complete at their deadline.
#include <array>
#include <latch>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/saver/internal/background_saver.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/testing/standing_clock.h"
#include "crochet/testing/watched_file_system.h"

namespace crochet {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class SaveDeadlineTest : public testing::Test {
 protected:
  SaveDeadlineTest() { use_clock(clock_); }
  void use_clock(Clock& clock) {
    saver_ = std::make_unique<Saver>(SaverOptions{.files = &files_, .clock = &clock});
  }
  void hold_data_files() {
    files_.on_create([this](const std::string& path) {
      if (path.find(".data-") != std::string::npos) gate_.pass();
    });
  }
  SaveTicket save_next_step(internal::BackgroundSaver& background) {
    session_->run(graph_->train());
    return background.enqueue(saver_->snapshot(*session_), "d/model.ckpt",
                              read_global_step(*session_));
  }
  // Counts down when the thread that holds it ends.
  std::shared_ptr<void> until_worker_ends() {
    return {nullptr, [this](void*) { worker_ended_.count_down(); }};
  }
  std::vector<std::string> checkpoints() { return list_checkpoints(files_, "d", "model.ckpt"); }

  LogCapture log_;
  WatchedFileSystem files_;
  FakeClock clock_;
  Gate gate_;
  std::latch worker_ended_{1};
  std::unique_ptr<Saver> saver_;
  std::unique_ptr<ScriptedGraph> graph_ = std::make_unique<ScriptedGraph>();
  std::unique_ptr<Session> session_ = graph_->new_session("");
};

TEST_F(SaveDeadlineTest, NamesTheUnfinishedSavesAtTheDeadline) {
  internal::BackgroundSaver background(*saver_);
  save_next_step(background);
  background.wait();
  hold_data_files();
  save_next_step(background);
  gate_.wait_for_waiting();
  const Clock::TimePoint start = clock_.now();
  EXPECT_THAT([&] { background.close(start + 25s, until_worker_ends()); },
              ThrowsMessage<DeadlineExceededError>(
                  AllOf(HasSubstr("not saved yet: d/model.ckpt-2 (step 2: snapshotted)"),
                        HasSubstr("the last checkpoint that is published: d/model.ckpt-1"))));
  EXPECT_EQ(clock_.now(), start + 25s);
  EXPECT_TRUE(log_.contains("waiting for a checkpoint to be written: 10 s so far"));
  gate_.open();
  worker_ended_.wait();
}

TEST_F(SaveDeadlineTest, ADetachedThreadNeedsNothingThatWasDestroyed) {
  auto background = std::make_unique<internal::BackgroundSaver>(*saver_);
  hold_data_files();
  const SaveTicket ticket = save_next_step(*background);
  gate_.wait_for_waiting();
  EXPECT_THROW(background->close(clock_.now() + 1s, until_worker_ends()), DeadlineExceededError);
  background.reset();
  saver_.reset();
  session_.reset();
  graph_.reset();
  EXPECT_FALSE(ticket.finished());
  gate_.open();
  worker_ended_.wait();
  EXPECT_EQ(ticket.stage(), SaveStage::kPublished);
  EXPECT_THAT(checkpoints(), ElementsAre("d/model.ckpt-1"));
}

TEST_F(SaveDeadlineTest, ADetachedThreadHoldsItsObjectUntilItEnds) {
  internal::BackgroundSaver background(*saver_);
  hold_data_files();
  save_next_step(background);
  gate_.wait_for_waiting();
  EXPECT_THROW(background.close(clock_.now(), until_worker_ends()), DeadlineExceededError);
  EXPECT_FALSE(worker_ended_.try_wait());
  gate_.open();
  worker_ended_.wait();
}

TEST_F(SaveDeadlineTest, CloseReturnsOnceAllSavesAreWritten) {
  StandingClock clock;
  use_clock(clock);
  internal::BackgroundSaver background(*saver_);
  hold_data_files();
  const SaveTicket ticket = save_next_step(background);
  std::thread opener([&] {
    clock.wait_for_sleepers();
    gate_.open();
  });
  background.close(clock.now() + 25s, until_worker_ends());
  opener.join();
  EXPECT_EQ(ticket.stage(), SaveStage::kPublished);
  EXPECT_TRUE(worker_ended_.try_wait());  // It is not needed any more.
}

// A save that is published while the memory of its snapshot is still being freed.
class FreeingTest : public SaveDeadlineTest {
 protected:
  ~FreeingTest() override { gate_.open(); }
  SaveTicket save_what_is_freed_slowly(internal::BackgroundSaver& background) {
    const auto pass_gate = [](void* gate) noexcept { static_cast<Gate*>(gate)->pass(); };
    std::vector<NamedTensor> tensors;
    tensors.push_back({"w", Tensor::from_buffer(DType::kUint8, Shape{1 << 10},
                                                Buffer::borrow(memory_, pass_gate, &gate_))});
    const SaveTicket ticket = background.enqueue(Snapshot(std::move(tensors)), "d/model.ckpt", 7);
    gate_.wait_for_waiting();
    return ticket;
  }

 private:
  alignas(64) std::array<std::byte, 1 << 10> memory_ = {};
};

TEST_F(FreeingTest, CountsAsSavedAtTheDeadline) {
  auto background = std::make_unique<internal::BackgroundSaver>(*saver_);
  const SaveTicket ticket = save_what_is_freed_slowly(*background);
  EXPECT_EQ(ticket.stage(), SaveStage::kPublished);
  EXPECT_TRUE(background->busy());
  EXPECT_TRUE(background->wait_until(clock_.now() + 1s));
  EXPECT_EQ(background->unfinished(), "");
  EXPECT_EQ(background->last_published(), "d/model.ckpt-7");
  EXPECT_NO_THROW(background->close(clock_.now() + 1s, until_worker_ends()));
  background.reset();  // Does not wait until the memory is freed.
  EXPECT_FALSE(worker_ended_.try_wait());
  gate_.open();
  worker_ended_.wait();
}

TEST_F(FreeingTest, IsFinishedAtOnce) {
  internal::BackgroundSaver background(*saver_);
  save_what_is_freed_slowly(background);
  const std::vector<SaveTicket> finished = background.take_finished();
  ASSERT_EQ(finished.size(), 1);
  EXPECT_EQ(finished[0].step(), 7);
  gate_.open();
}

TEST_F(SaveDeadlineTest, RetriesAFailedSaveAtOnce) {
  StandingClock clock;
  use_clock(clock);
  internal::BackgroundSaver background(*saver_);
  std::atomic<int> attempts = 0;
  files_.on_create([&](const std::string&) {
    ++attempts;
    throw UnknownError("the disk is broken");
  });
  const SaveTicket ticket = save_next_step(background);
  clock.wait_for_sleepers();  // It waits for the retry.
  background.close(clock.now() + 25s);
  EXPECT_THROW(ticket.wait(), UnknownError);
  EXPECT_EQ(attempts, 2);
}

TEST_F(SaveDeadlineTest, CloseWaitsForTheSnapshotsCopies) {
  class HeldCopies final : public PendingCopies {
   public:
    void wait() override { gate.pass(); }
    Gate gate;
  };
  const auto copies = std::make_shared<HeldCopies>();
  internal::BackgroundSaver background(*saver_);
  hold_data_files();
  background.enqueue(Snapshot({{"global_step", Tensor::scalar<int64_t>(0)}}, copies),
                     "d/model.ckpt", 0);
  std::atomic<bool> made = false;
  std::thread copier([&] {
    copies->gate.wait_for_waiting(2);  // The thread, and close(), which detaches it.
    made = true;
    copies->gate.open();
  });
  EXPECT_THROW(background.close(clock_.now() + 1s, until_worker_ends()), DeadlineExceededError);
  EXPECT_TRUE(made);
  copier.join();
  gate_.open();
  worker_ended_.wait();
}

TEST_F(SaveDeadlineTest, SavesAgainAfterAThreadWasDetached) {
  internal::BackgroundSaver background(*saver_);
  hold_data_files();
  save_next_step(background);
  gate_.wait_for_waiting();
  EXPECT_THROW(background.close(clock_.now(), until_worker_ends()), DeadlineExceededError);
  EXPECT_FALSE(background.busy());
  gate_.open();
  save_next_step(background);
  background.wait();
  worker_ended_.wait();
  EXPECT_THAT(checkpoints(), ElementsAre("d/model.ckpt-1", "d/model.ckpt-2"));
}

TEST_F(SaveDeadlineTest, ExpectsASaveToTakeAsLongAsEarlierOnes) {
  internal::BackgroundSaver background(*saver_);
  EXPECT_DOUBLE_EQ(background.expected_secs(100'000'000), 1 + 2);  // Without earlier saves.
  files_.on_create([this](const std::string& path) {
    if (path.find(".data-") != std::string::npos) clock_.advance(20s);
  });
  const SaveTicket ticket = save_next_step(background);
  background.wait();
  EXPECT_DOUBLE_EQ(background.expected_secs(ticket.num_bytes()), 30);
  EXPECT_DOUBLE_EQ(background.expected_secs(2 * ticket.num_bytes()), 60);
}

// The same with a saver that is used without hooks.
TEST_F(SaveDeadlineTest, ASaverSavesInTheBackground) {
  session_->run(graph_->train());
  const SaveTicket ticket = saver_->save_async(*session_, "d/model.ckpt", 1);
  ticket.wait(SaveStage::kDurable);
  EXPECT_TRUE(checkpoint_exists(files_, "d/model.ckpt-1"));
  saver_->wait();
  EXPECT_EQ(ticket.location(), "d/model.ckpt-1");
  EXPECT_EQ(ticket.num_attempts(), 1);
  EXPECT_GT(ticket.num_bytes(), 0U);
}

TEST_F(SaveDeadlineTest, ASaverSavesTheStateAtTheTimeOfTheCall) {
  hold_data_files();
  session_->run(graph_->train());
  saver_->save_async(*session_, "d/model.ckpt", 1);
  session_->run(graph_->train());
  gate_.open();
  saver_->wait();
  saver_->restore(*session_, "d/model.ckpt-1");
  EXPECT_EQ(read_global_step(*session_), 1);
}

TEST_F(SaveDeadlineTest, ADestroyedSaverFinishesItsSaves) {
  const SaveTicket ticket = saver_->save_async(*session_, "d/model.ckpt", 0);
  saver_.reset();
  EXPECT_EQ(ticket.stage(), SaveStage::kPublished);
}

TEST_F(SaveDeadlineTest, ASaverWaitsNoLongerThanItsDeadline) {
  hold_data_files();
  const SaveTicket ticket = saver_->save_async(*session_, "d/model.ckpt", 0);
  gate_.wait_for_waiting();
  EXPECT_THAT([&] { saver_->wait(2.5); },
              ThrowsMessage<DeadlineExceededError>(
                  AllOf(HasSubstr("not saved within 2.5 s: d/model.ckpt-0 (step 0: snapshotted)"),
                        HasSubstr("the last checkpoint that is published: none of this run"))));
  EXPECT_THROW(saver_->wait(-1), InvalidArgumentError);
  gate_.open();
  saver_->wait();
  EXPECT_EQ(ticket.stage(), SaveStage::kPublished);
}

TEST_F(SaveDeadlineTest, ASaverDetachesItsThread) {
  hold_data_files();
  // The saver's options live until its thread ends.
  saver_ = std::make_unique<Saver>(
      SaverOptions{.filter = [alive = until_worker_ends()](std::string_view) { return true; },
                   .files = &files_,
                   .clock = &clock_});
  const SaveTicket ticket = saver_->save_async(*session_, "d/model.ckpt", 0);
  gate_.wait_for_waiting();
  EXPECT_THROW(saver_->close(1), DeadlineExceededError);
  saver_.reset();
  EXPECT_FALSE(worker_ended_.try_wait());
  gate_.open();
  worker_ended_.wait();
  EXPECT_EQ(ticket.stage(), SaveStage::kPublished);
  EXPECT_THAT(checkpoints(), ElementsAre("d/model.ckpt-0"));
}

TEST_F(SaveDeadlineTest, ASaverWithoutSavesDoesNotWait) {
  saver_->wait();
  saver_->wait(0);
  saver_->close(0);
}

}  // namespace
}  // namespace crochet
