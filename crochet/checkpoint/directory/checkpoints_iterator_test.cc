// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/checkpoints_iterator.h"

#include <csignal>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// Acts as a training job after each second of waiting.
class ScriptedClock final : public Clock {
 public:
  TimePoint now() const override { return clock_.now(); }
  double wall_time() const override { return clock_.wall_time(); }
  bool sleep_for(Duration duration, const std::stop_token& stop) override {
    const int64_t before = slept_secs();
    const bool slept = clock_.sleep_for(duration, stop);
    if (on_sleep && slept_secs() > before) on_sleep(static_cast<int>(slept_secs()));
    return slept;
  }
  int64_t slept_secs() const {
    Duration sum{};
    for (const Duration duration : clock_.sleeps()) sum += duration;
    return std::chrono::duration_cast<std::chrono::seconds>(sum).count();
  }
  void advance(Duration duration) { clock_.advance(duration); }

  std::function<void(int secs)> on_sleep;

 private:
  FakeClock clock_;
};

class CheckpointsIteratorTest : public testing::Test {
 protected:
  ~CheckpointsIteratorTest() override { set_pending_signal(0); }

  CheckpointsIteratorOptions options() {
    return {.timeout_secs = 10.0, .files = &files_, .clock = &clock_};
  }
  CheckpointsIterator checkpoints() { return checkpoints_iterator("d", options()); }
  void save(int64_t step) {
    files_.create_directories("d");
    internal::BundleWriter writer(files_, fmt::format("d/model.ckpt-{}", step));
    writer.add("step", Tensor::scalar(step));
    writer.finish();
  }
  void save_with(int64_t step, double accuracy) {
    save(step);
    write_sidecar(files_, path(step),
                  {.step = step, .unix_time = 1, .metrics = {{"accuracy", accuracy}}});
  }
  std::string path(int64_t step) { return fmt::format("d/model.ckpt-{}", step); }

  LogCapture log_;
  ScriptedClock clock_;
  MemoryFileSystem files_{clock_};
};

TEST_F(CheckpointsIteratorTest, ReturnsEachNewestCheckpointOnce) {
  CheckpointsIterator checkpoints = this->checkpoints();
  save(1);
  save(2);
  EXPECT_EQ(checkpoints.next(), path(2));
  save(3);
  EXPECT_EQ(checkpoints.next(), path(3));
  EXPECT_EQ(checkpoints.next(), std::nullopt);
}

TEST_F(CheckpointsIteratorTest, ReturnsEachBestCheckpointOnce) {
  CheckpointsIteratorOptions options = this->options();
  options.which = CheckpointChoice::best("accuracy", Better::kHigher);
  CheckpointsIterator checkpoints("d", options);
  save(1);
  EXPECT_EQ(checkpoints.next(), std::nullopt) << "it has no accuracy";
  save_with(2, 0.5);
  save_with(3, 0.25);
  EXPECT_EQ(checkpoints.next(), path(2));
  EXPECT_EQ(checkpoints.next(), std::nullopt) << "the newest is not better";
  save_with(4, 0.75);
  files_.truncate(path(4) + ".index", 1);
  EXPECT_EQ(checkpoints.next(), std::nullopt) << "the best is damaged";
  save_with(5, 0.625);
  EXPECT_EQ(checkpoints.next(), path(5));
}

TEST_F(CheckpointsIteratorTest, TheBestNeedsToKnowWhatIsBetter) {
  CheckpointsIteratorOptions options = this->options();
  options.which = CheckpointChoice::best("accuracy");
  CheckpointsIterator checkpoints("d", options);
  save_with(2, 0.5);
  EXPECT_THROW(checkpoints.next(), InvalidArgumentError);
}

TEST_F(CheckpointsIteratorTest, ReturnsAllCheckpointsInTheirOrder) {
  CheckpointsIteratorOptions options = this->options();
  options.all_checkpoints = true;
  CheckpointsIterator checkpoints("d", options);
  for (const int64_t step : {3, 1, 2}) save(step);
  files_.truncate(path(2) + ".index", 1);
  EXPECT_EQ(checkpoints.next(), path(1));
  save(4);
  EXPECT_EQ(checkpoints.next(), path(3));
  EXPECT_EQ(checkpoints.next(), path(4));
  EXPECT_EQ(checkpoints.next(), std::nullopt);
}

TEST_F(CheckpointsIteratorTest, EndsWithTheFinalStep) {
  CheckpointsIteratorOptions options = this->options();
  options.final_step = 4;
  options.timeout_secs.reset();
  CheckpointsIterator newest("d", options);
  options.which = CheckpointChoice::best("accuracy", Better::kHigher);
  CheckpointsIterator best("d", options);
  save_with(3, 0.75);
  EXPECT_EQ(newest.next(), path(3));
  EXPECT_EQ(best.next(), path(3));
  save_with(5, 0.25);
  EXPECT_EQ(newest.next(), path(5));
  EXPECT_EQ(newest.next(), std::nullopt);
  EXPECT_EQ(best.next(), std::nullopt);
}

TEST_F(CheckpointsIteratorTest, RejectsAChoiceThatNothingCanFollow) {
  CheckpointsIteratorOptions options = this->options();
  options.which = CheckpointChoice::at_step(3);
  EXPECT_THROW(CheckpointsIterator("d", options), InvalidArgumentError);
  options.which = CheckpointChoice::best("accuracy");
  options.all_checkpoints = true;
  EXPECT_THROW(CheckpointsIterator("d", options), InvalidArgumentError);
}

TEST_F(CheckpointsIteratorTest, WaitsForTheJob) {
  clock_.on_sleep = [&](int secs) {
    if (secs == 3) save(1);
    if (secs == 5) save(2);
  };
  std::vector<std::string> prefixes;
  for (const std::string& prefix : checkpoints_iterator("d", options())) prefixes.push_back(prefix);
  EXPECT_THAT(prefixes, ElementsAre(path(1), path(2)));
  // Ten seconds after the last one, with a check every second.
  EXPECT_EQ(clock_.slept_secs(), 5 + 10);
  EXPECT_TRUE(log_.contains("no new checkpoint for 10 seconds"));
}

TEST_F(CheckpointsIteratorTest, ATimeoutOfZeroDoesNotWait) {
  CheckpointsIteratorOptions at_once = options();
  at_once.timeout_secs = 0;
  CheckpointsIterator checkpoints("d", at_once);
  EXPECT_EQ(checkpoints.next(), std::nullopt);
  save(1);
  EXPECT_EQ(checkpoints.next(), path(1));
  EXPECT_EQ(clock_.slept_secs(), 0);
}

TEST_F(CheckpointsIteratorTest, CallsTimeoutFnAtTheTimeout) {
  int asked = 0;
  CheckpointsIteratorOptions asking = options();
  asking.timeout_fn = [&] {
    if (++asked == 2) save(1);
    return asked == 3;
  };
  CheckpointsIterator checkpoints("d", asking);
  EXPECT_EQ(checkpoints.next(), path(1));
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(checkpoints.next(), std::nullopt);
  EXPECT_EQ(asked, 3);
}

TEST_F(CheckpointsIteratorTest, KeepsTheMinimumInterval) {
  CheckpointsIteratorOptions slow = options();
  slow.min_interval_secs = 60;
  CheckpointsIterator checkpoints("d", slow);
  save(1);
  checkpoints.next();
  clock_.advance(std::chrono::seconds(25));  // Evaluating.
  save(2);
  EXPECT_EQ(checkpoints.next(), path(2));
  EXPECT_EQ(clock_.slept_secs(), 35);
}

TEST_F(CheckpointsIteratorTest, EndsOnAStop) {
  std::stop_source source;
  CheckpointsIteratorOptions stoppable = options();
  stoppable.stop = source.get_token();
  stoppable.timeout_secs.reset();
  clock_.on_sleep = [&](int secs) {
    if (secs == 2) source.request_stop();
  };
  EXPECT_EQ(CheckpointsIterator("d", stoppable).next(), std::nullopt);
  save(1);
  EXPECT_EQ(CheckpointsIterator("d", stoppable).next(), std::nullopt);
}

TEST_F(CheckpointsIteratorTest, EndsOnASignal) {
  CheckpointsIteratorOptions for_ever = options();
  for_ever.timeout_secs.reset();
  for_ever.timeout_fn = []() -> bool { throw InternalError("asked at a signal"); };
  clock_.on_sleep = [](int) { set_pending_signal(SIGTERM); };
  EXPECT_EQ(CheckpointsIterator("d", for_ever).next(), std::nullopt);
}

TEST_F(CheckpointsIteratorTest, SkipsADamagedCheckpointOnce) {
  save(1);
  save(2);
  files_.truncate("d/model.ckpt-2.index", 10);
  CheckpointsIterator checkpoints = this->checkpoints();
  EXPECT_EQ(checkpoints.next(), path(1));
  EXPECT_EQ(checkpoints.next(), std::nullopt);
  save(3);
  EXPECT_EQ(checkpoints.next(), path(3));
  EXPECT_THAT(log_.lines(Severity::kWarning), SizeIs(1));
  EXPECT_TRUE(log_.contains("checkpoint d/model.ckpt-2 is skipped"));
}

TEST_F(CheckpointsIteratorTest, DoesNotGoBackWhenTheNewestIsRemoved) {
  save(1);
  CheckpointsIterator checkpoints = this->checkpoints();
  EXPECT_EQ(checkpoints.next(), path(1));
  save(2);
  EXPECT_EQ(checkpoints.next(), path(2));
  remove_checkpoint(files_, path(2));
  EXPECT_EQ(checkpoints.next(), std::nullopt);
}

TEST_F(CheckpointsIteratorTest, ReturnsACheckpointThatWasRewritten) {
  save(1);
  CheckpointsIterator checkpoints = this->checkpoints();
  checkpoints.next();
  clock_.advance(std::chrono::seconds(5));
  remove_checkpoint(files_, path(1));
  save(1);
  EXPECT_EQ(checkpoints.next(), path(1));
}

TEST_F(CheckpointsIteratorTest, ChangesNothingInTheDirectory) {
  save(1);
  files_.create("d/model.ckpt-2.index")->append("damaged");
  const auto before = files_.list("d");
  CheckpointsIterator checkpoints = this->checkpoints();
  while (checkpoints.next()) {
  }
  EXPECT_EQ(files_.list("d"), before);
}

TEST_F(CheckpointsIteratorTest, RejectsNegativeTimes) {
  EXPECT_THROW(CheckpointsIterator(""), InvalidArgumentError);
  EXPECT_THROW(CheckpointsIterator("d", {.min_interval_secs = -1}), InvalidArgumentError);
  EXPECT_THROW(CheckpointsIterator("d", {.timeout_secs = -1.0}), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
