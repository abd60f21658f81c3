// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What do the ranks of a run send each other?
//
//   rank_messages --ranks 1000
//     ranks that are threads: prints, as JSON, the bytes that reach and leave rank 0 at the start,
//     in a step, in a save, and at the end, and the size of a checkpoint's index
//   rank_messages --join
//     one rank of a job (see docs/distributed.md): the chief prints the time of a step and what a
//     save adds to one
//
// The ranks have an array together, of which each has 1 KiB, and a value each.
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "crochet/crochet.h"
#include "crochet/testing/memory_file_system.h"
#include "timing.h"
#ifdef CROCHET_BENCH_MPI
#include "crochet/mpi/join.h"
#endif

using namespace crochet;

namespace {

constexpr int64_t kSaveEvery = 5;
constexpr int64_t kSteps = 14;
constexpr int64_t kElements = 128;

// Where ranks that are threads leave their messages for rank 0, and find its answer.
class Exchange {
 public:
  explicit Exchange(int size) : messages_(static_cast<size_t>(size)) {}

  // The bytes that have reached rank 0, and left it, in all calls that have ended.
  int64_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }
  std::string call(int rank, int64_t number, const std::string& message,
                   const std::function<std::string(const std::vector<std::string>&)>& combine) {
    std::unique_lock lock(mutex_);
    messages_[static_cast<size_t>(rank)] = message;
    ++num_here_;
    if (rank != 0) {
      if (num_here_ == messages_.size()) all_here_.notify_all();
      answered_.wait(lock, [&] { return num_answered_ >= number; });
      return answer_;
    }
    all_here_.wait(lock, [&] { return num_here_ == messages_.size(); });
    answer_ = combine(messages_);
    for (size_t i = 1; i < messages_.size(); ++i)
      bytes_ += static_cast<int64_t>(messages_[i].size() + answer_.size());
    num_here_ = 0;
    num_answered_ = number;
    answered_.notify_all();
    return answer_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable all_here_;
  std::condition_variable answered_;
  std::vector<std::string> messages_;
  size_t num_here_ = 0;
  std::string answer_;
  int64_t num_answered_ = 0;
  int64_t bytes_ = 0;
};

class ThreadGroup final : public Group {
 public:
  ThreadGroup(Exchange& exchange, int rank, int size)
      : Group({.rank = rank, .size = size, .name = "threads"}), exchange_(exchange) {}

 private:
  std::string exchange(int64_t number, const std::string& message, WaitLimit&,
                       const Combine& combine) override {
    return exchange_.call(rank(), number, message, combine);
  }
  // A failure ends the benchmark.
  void send_failure(int64_t, const std::string&, const std::string&) override { std::abort(); }

  Exchange& exchange_;
};

struct State {
  State(int rank, int size)
      : shard{.full_shape = {size * kElements}, .offset = {rank * kElements}},
        field(static_cast<size_t>(kElements), 1.0) {}
  void track(Tracker& tracker) {
    tracker("field", sharded(field, shard))("mine", per_rank(mine))("count", count);
  }
  void step() {
    for (double& each : field) each += 1;
    ++mine;
    ++count;
  }

  Shard shard;
  std::vector<double> field;
  int64_t mine = 0;
  int64_t count = 0;
};

LoopOptions options_of(const std::string& dir, const std::shared_ptr<Group>& group,
                       FileSystem* files) {
  return {.checkpoint = {.dir = dir, .every_steps = kSaveEvery},
          .summaries = {.every_steps = 0, .count_every_steps = 0},
          .ranks = {.group = group},
          .hooks = {StopAtStepHook({.last_step = kSteps})},
          .files = files};
}

void run_threads(int size) {
  Exchange exchange(size);
  MemoryFileSystem files;
  std::vector<int64_t> at;  // The bytes when the chief begins each step, and at the end.
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      const auto group = std::make_shared<ThreadGroup>(exchange, rank, size);
      Loop loop(options_of("run", group, &files));
      State state(rank, size);
      loop.track("state", state);
      loop.run([&](Step&) {
        if (rank == 0) at.push_back(exchange.bytes());
        state.step();
      });
      if (rank == 0) at.push_back(exchange.bytes());
    });
  for (std::thread& thread : threads) thread.join();
  const std::string index = *latest_checkpoint(files, "run") + ".index";
  // Index n is the beginning of step n + 1. The first run saves step 0 as well.
  const int64_t step = at[8] - at[7];
  fmt::print("{}\n", nlohmann::json{{"ranks", size},
                                    {"start_bytes", at[0]},
                                    {"step_bytes", step},
                                    {"save_bytes", at[10] - at[9] - step},
                                    {"end_bytes", at[kSteps] - at[kSteps - 1]},
                                    {"index_bytes", files.file_size(index)}}
                         .dump());
}

void run_as_rank(const std::shared_ptr<Group>& group, const std::string& dir, int64_t steps) {
  LoopOptions options = options_of(dir, group, nullptr);
  options.hooks = {StopAtStepHook({.last_step = steps})};
  options.checkpoint.every_steps = 50;
  Loop loop(options);
  State state(group->rank(), group->size());
  loop.track("state", state);
  std::vector<double> begins;
  const double start = now();
  loop.run([&](Step&) {
    begins.push_back(now());
    state.step();
  });
  const double end = now();
  if (!group->is_chief()) return;
  std::vector<double> plain;
  std::vector<double> saving;
  for (size_t i = 10; i + 1 < begins.size(); ++i)
    ((i + 1) % 50 == 0 ? saving : plain).push_back(begins[i + 1] - begins[i]);
  fmt::print("{}\n", nlohmann::json{{"ranks", group->size()},
                                    {"start_s", begins.front() - start},
                                    {"step_us", 1e6 * median(plain)},
                                    {"save_us", 1e6 * (median(saving) - median(plain))},
                                    {"end_s", end - begins.back()}}
                         .dump());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures what the ranks of a run send each other.");
  int ranks = 4;
  bool joins = false;
  bool uses_mpi = false;
  int64_t steps = 500;
  std::string dir = "rank_messages";
  app.add_option("--ranks", ranks)->check(CLI::PositiveNumber);
  app.add_flag("--join", joins);
  app.add_flag("--mpi", uses_mpi);
  app.add_option("--steps", steps)->check(CLI::PositiveNumber);
  app.add_option("--dir", dir);
  CLI11_PARSE(app, argc, argv);
  set_log_callback([](Severity severity, std::string_view text) {
    if (severity >= Severity::kWarning) fmt::print(stderr, "{}\n", text);
  });
  if (joins) {
    run_as_rank(join_group(), dir, steps);
  } else if (uses_mpi) {
#ifdef CROCHET_BENCH_MPI
    run_as_rank(mpi::join(argc, argv), dir, steps);
#else
    fmt::print(stderr, "built without MPI\n");
    return 1;
#endif
  } else {
    run_threads(ranks);
  }
}
