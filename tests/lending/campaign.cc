// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Searches for checkpoints that mix steps. Snapshots lend memory to the thread that saves
// and reuse it once that is done; here arrays grow and shrink from step to step, a save is due
// in every step, and every checkpoint is read back and compared with the state of its step.
//
// Runs every way of changing a state (`body`, `compute` and `update`, variables that are replaced,
// variables that are updated) with every policy for overlapping saves, with and without a random
// delay at each scheduling point, in several threads at once.
//
//   campaign [saves=N] [threads=N] [seed=N]
//
// scripts/lend-campaign runs the long form. Exit code: 1 if a checkpoint was torn.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/mix_bits.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/loop/monitored_training_session.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/scheduling.h"

using namespace crochet;

namespace {

enum class Way { kBody, kComputeUpdate, kReplace, kUpdate };
constexpr std::array kWays = {Way::kBody, Way::kComputeUpdate, Way::kReplace, Way::kUpdate};
constexpr std::array kWayNames = {"body", "compute/update", "replace", "update"};
constexpr std::array kPolicies = {SaveOverlapPolicy::kWait, SaveOverlapPolicy::kSkip,
                                  SaveOverlapPolicy::kNewestWins};
constexpr std::array kPolicyNames = {"kWait", "kSkip", "kNewestWins"};

constexpr size_t kArrays = 4;
// Successive sizes differ by little or by much. 3 elements are the fewest that are not stored
// inline in the Tensor.
constexpr std::array<size_t, 6> kSizes = {300, 303, 3, 4000, 301, 30};

size_t growing_size(int64_t step, size_t array) {
  return kSizes[(static_cast<size_t>(step) * (array + 1) + array) % kSizes.size()];
}
// Two of the variables have the same size, and so share spare memory.
size_t fixed_size(size_t array) { return kSizes[array / 2]; }

int64_t element(int64_t step, size_t array, size_t index) {
  return step * 1'000'003 + static_cast<int64_t>(array * 7919 + index);
}

void fill(std::span<int64_t> elements, int64_t step, size_t array) {
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = element(step, array, i);
}

// The difference between the array and its expected value in a step; "" if it is correct.
std::string fault_of(const Tensor& tensor, int64_t step, size_t array, size_t size) {
  const std::span<const int64_t> elements = tensor.flat<int64_t>();
  if (elements.size() != size)
    return fmt::format("found {} elements, expected {}", elements.size(), size);
  for (size_t i = 0; i < size; ++i)
    if (elements[i] != element(step, array, i))
      return fmt::format("element {} of {}: found {}, expected {}", i, size, elements[i],
                         element(step, array, i));
  return "";
}

// Splitmix64, one sequence per thread: the delays must not synchronise the threads.
std::atomic<uint64_t> next_seed = 1;
uint64_t random_number() {
  thread_local uint64_t state = next_seed.fetch_add(1) * 0x9e3779b97f4a7c15u;
  return internal::mix_bits(state += 0x9e3779b97f4a7c15u);
}

// One point in eight yields to other threads, one in 64 sleeps about as long as a save takes.
void delay() noexcept {
  const uint64_t random = random_number();
  if (random % 64 == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(random / 64 % 500));
  } else if (random % 8 == 0) {
    std::this_thread::yield();
  }
}

struct Case {
  Way way = Way::kBody;
  SaveOverlapPolicy policy = SaveOverlapPolicy::kWait;
  int64_t saves = 0;

  std::string name() const {
    return fmt::format("{}, {}", kWayNames[static_cast<size_t>(way)],
                       kPolicyNames[static_cast<size_t>(policy)]);
  }
  bool is_resizable() const { return way == Way::kBody || way == Way::kComputeUpdate; }
};

// Reads each checkpoint back; stops the run after enough of them.
class Checker final : public CheckpointSaverListener {
 public:
  Checker(const Case& which, FileSystem& files) : case_(which), files_(files) {}

  bool after_save(Session&, int64_t step) override {
    const std::string prefix = fmt::format("run/model.ckpt-{}", step);
    // Older checkpoints may be removed meanwhile.
    try {
      const CheckpointReader reader(prefix, files_);
      for (size_t i = 0; i < kArrays; ++i) {
        check(reader.read(fmt::format("a{}", i)), step, i, fixed_size(i));
        if (case_.is_resizable())
          check(reader.read(fmt::format("g{}", i)), step, i, growing_size(step, i));
      }
      ++num_checked_;
    } catch (const NotFoundError&) {
      ++num_removed_;
    }
    return num_checked_ >= case_.saves;
  }

  int64_t num_checked() const { return num_checked_; }
  int64_t num_removed() const { return num_removed_; }
  int64_t num_torn() const { return num_torn_; }

 private:
  void check(const Tensor& found, int64_t step, size_t array, size_t size) {
    const std::string fault = fault_of(found, step, array, size);
    if (fault.empty()) return;
    if (++num_torn_ <= 5)
      fmt::print("TORN: {}: step {}, array {}: {}\n", case_.name(), step, array, fault);
  }

  const Case case_;
  FileSystem& files_;
  int64_t num_checked_ = 0;
  int64_t num_removed_ = 0;
  int64_t num_torn_ = 0;
};

void run_loop(const Case& which, LoopOptions options) {
  std::array<std::vector<int64_t>, kArrays> fixed, growing;
  const auto set = [&](int64_t step) {
    for (size_t i = 0; i < kArrays; ++i) {
      fill(fixed[i], step, i);
      growing[i].resize(growing_size(step, i));
      fill(growing[i], step, i);
    }
  };
  for (size_t i = 0; i < kArrays; ++i) fixed[i].resize(fixed_size(i));
  set(0);
  Loop loop(std::move(options));
  for (size_t i = 0; i < kArrays; ++i) {
    loop.track(fmt::format("a{}", i), std::span(fixed[i]));
    loop.track(fmt::format("g{}", i), growing[i]);
  }
  if (which.way == Way::kBody) {
    loop.run([&](Step& step) { set(step.number()); });
  } else {
    loop.run([](Step&) {}, [&](Step& step) { set(step.number()); });
  }
}

void run_graph(const Case& which, MonitoredTrainingSessionOptions options, local::Graph& graph) {
  const local::OwnedVariable step = graph.create_global_step();
  std::vector<Output> changes;
  for (size_t i = 0; i < kArrays; ++i) {
    Tensor initial(DType::kInt64, {static_cast<int64_t>(fixed_size(i))});
    fill(initial.mutable_flat<int64_t>(), 0, i);
    const local::OwnedVariable variable = graph.variable(fmt::format("a{}", i), initial);
    const std::string name = fmt::format("change{}", i);
    if (which.way == Way::kReplace) {
      changes.push_back(graph.op(name, {step, local::replace(variable)},
                                 [i](int64_t before, std::span<const int64_t>,
                                     std::span<int64_t> next) { fill(next, before + 1, i); }));
    } else {
      changes.push_back(
          graph.op(name, {step, local::update(variable)},
                   [i](int64_t before, std::span<int64_t> value) { fill(value, before + 1, i); }));
    }
  }
  const Output train_op = graph.increment_global_step(changes);
  train(std::move(options), [&](MonitoredSession& session) {
    while (!session.should_stop()) session.run(train_op);
  });
}

std::shared_ptr<Checker> run(const Case& which) {
  MemoryFileSystem files;
  auto checker = std::make_shared<Checker>(which, files);
  if (which.is_resizable()) {
    run_loop(which, {.checkpoint = {.dir = "run",
                                    .every_steps = 1,
                                    .listeners = {checker},
                                    .copy_threads = 4,
                                    .saving = {.overlap = which.policy}},
                     .summaries = {.every_steps = 0, .count_every_steps = 0},
                     .files = &files});
  } else {
    local::Graph graph;
    graph.set_copy_threads(4);
    run_graph(which,
              {.graph = graph,
               .checkpoint_dir = "run",
               .save_checkpoint_steps = 1,
               .saving_listeners = {checker},
               .saving = {.overlap = which.policy},
               .save_summaries_steps = 0,
               .log_step_count_steps = 0,
               .files = &files},
              graph);
  }
  return checker;
}

// The value of "name=" in the arguments.
int64_t number(std::span<char*> arguments, std::string_view name, int64_t otherwise) {
  for (const std::string_view argument : arguments)
    if (argument.starts_with(name)) return std::atoll(argument.data() + name.size());
  return otherwise;
}

struct Totals {
  std::atomic<int64_t> checked = 0, removed = 0, torn = 0, errors = 0;
};

// Each thread runs all cases, beginning with a different one, so that different cases overlap.
void run_all(size_t first, int64_t saves_of_each, Totals& totals) {
  constexpr size_t kCases = kWays.size() * kPolicies.size();
  for (size_t i = 0; i < kCases; ++i) {
    const size_t number = (first + i) % kCases;
    const Case which = {.way = kWays[number % kWays.size()],
                        .policy = kPolicies[number / kWays.size()],
                        .saves = saves_of_each};
    try {
      const std::shared_ptr<Checker> checker = run(which);
      totals.checked += checker->num_checked();
      totals.removed += checker->num_removed();
      totals.torn += checker->num_torn();
    } catch (const std::exception& error) {
      fmt::print("FAILED: {}: {}\n", which.name(), error.what());
      ++totals.errors;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::span arguments(argv, static_cast<size_t>(argc));
  const int64_t saves = number(arguments, "saves=", 4800);
  const auto threads = static_cast<size_t>(number(arguments, "threads=", 4));
  next_seed = static_cast<uint64_t>(number(arguments, "seed=", 1));
  set_log_callback([](Severity severity, std::string_view message) {
    if (severity >= Severity::kError) fmt::print("{}\n", message);
  });
  const auto of_each = std::max<int64_t>(
      1, saves / static_cast<int64_t>(2 * threads * kWays.size() * kPolicies.size()));
  Totals totals;
  for (const bool delays : {false, true}) {
    const ScopedSchedulingHook hook(delays ? &delay : nullptr);
    std::vector<std::jthread> running;
    for (size_t i = 0; i < threads; ++i)
      running.emplace_back([&, i] { run_all(3 * i, of_each, totals); });
    running.clear();
    fmt::print("{} delays: {} checkpoints checked, {} torn arrays, {} removed before, {} errors\n",
               delays ? "with" : "without", totals.checked.exchange(0), totals.torn.load(),
               totals.removed.exchange(0), totals.errors.load());
    std::fflush(stdout);
  }
  return totals.torn > 0 || totals.errors > 0 ? 1 : 0;
}
