// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A thread loads batches ahead of the training. Both have an Epochs: the tracked one is where the
// training is, and a copy of it, made once the checkpoint is restored, is where the loader is.
//
//   loader STEPS
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include <crochet/crochet.h>

class Loader {
 public:
  explicit Loader(crochet::Epochs<int64_t> ahead)
      : ahead_(std::move(ahead)), thread_([this](std::stop_token stop) { load(stop); }) {}

  std::vector<double> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !queue_.empty(); });
    std::vector<double> batch = std::move(queue_.front());
    queue_.pop_front();
    changed_.notify_all();
    return batch;
  }

 private:
  void load(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::vector<double> batch;
      for (const int64_t place : ahead_.next()) batch.push_back(static_cast<double>(place) / 17);
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return queue_.size() < 8; })) return;
      queue_.push_back(std::move(batch));
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::vector<double>> queue_;
  crochet::Epochs<int64_t> ahead_;
  std::jthread thread_;  // The last member: it ends before what it uses.
};

int main(int, char** argv) {
  const int64_t last_step = std::atoll(argv[1]);
  crochet::Epochs<int64_t> consumed(1000, {.batch_size = 7, .seed = 5});
  double sum = 0;
  crochet::Loop loop({.checkpoint = {.dir = "runs/loader", .every_steps = 100},
                      .hooks = {crochet::StopAtStepHook({.last_step = last_step})}});
  loop.track("consumed", consumed);
  loop.track("sum", sum);
  loop.restore();
  Loader loader(consumed);
  const crochet::RunReport report = loop.run([&] {
    for (const double each : loader.take()) sum = 0.99 * sum + each;
    consumed.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // Stands for more work.
  });
  std::fprintf(stderr, "%s\n", to_string(report).c_str());
  std::printf("%.17g %.17g\n", sum, *report.epochs);
}
