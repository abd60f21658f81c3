// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "timing.h"

// What is saved, where, and how many times.
struct SavesToMeasure {
  std::string dir;
  size_t bytes = size_t{1} << 30;
  size_t variables = 64;
  int saves = 3;
  size_t quiet = 6;
};

inline void add_options_of_saves(CLI::App& app, SavesToMeasure& options) {
  app.add_option("--dir", options.dir, "Where the checkpoints are written; they are not removed");
  app.add_option("--bytes", options.bytes)->check(CLI::PositiveNumber);
  app.add_option("--variables", options.variables)->check(CLI::PositiveNumber);
  app.add_option("--saves", options.saves)->check(CLI::PositiveNumber);
  app.add_option("--quiet", options.quiet, "Steps between a save and the next one")
      ->check(CLI::PositiveNumber);
}

// The times of a save that has ended, counted from the end of its snapshot.
struct Written {
  double durable_s;
  double published_s;
  uint64_t bytes;  // Without those that it shares with the save before.
};

// The start of each step and the result of each save.
//
// The time lost by a save is the sum, over the steps from its trigger until it is published, of
// the time beyond that of the undisturbed steps around the save.
class Timeline {
 public:
  struct Save {
    double trigger;
    double snapshot_s;
    double blocked_s;  // With handing the snapshot to the thread that writes it.
    // Unset while it is running. Called between steps until it answers, never after the run: it
    // may refer to the hook.
    std::function<std::optional<Written>()> ask;
    std::optional<Written> written = {};  // Its answer.
    size_t step = 0;                      // The step after which it was made.

    double published_s() const { return snapshot_s + written.value().published_s; }
    double durable_s() const { return snapshot_s + written.value().durable_s; }
  };

  explicit Timeline(const SavesToMeasure& options) : options_(options) {}

  void begin_step() { starts_.push_back(now()); }
  size_t steps() const { return starts_.size(); }
  bool save_is_due() {
    if (saves_.empty()) return steps() > kUnmeasured + options_.quiet;
    return last_is_written() && quiet_steps() > options_.quiet;
  }
  bool is_over() {
    return static_cast<int>(saves_.size()) == options_.saves && last_is_written() &&
           quiet_steps() > options_.quiet;
  }
  // A save that was made after the last step.
  void add(Save save) {
    save.step = steps() - 1;
    saves_.push_back(std::move(save));
  }

  nlohmann::json report() const {
    nlohmann::json result = nlohmann::json::array();
    const std::vector<double> took = durations();
    for (const Save& save : saves_) {
      const size_t end = steps_until(save.trigger + save.published_s(), save.step);
      double lost = 0;
      for (size_t step = save.step; step < end; ++step) lost += took[step];
      lost -= undisturbed(took, save.step, end) * static_cast<double>(end - save.step);
      result.push_back({{"snapshot_s", save.snapshot_s},
                        {"blocked_s", save.blocked_s},
                        {"lost_s", lost},
                        {"durable_s", save.durable_s()},
                        {"published_s", save.published_s()},
                        {"written_bytes", save.written.value().bytes}});
    }
    return result;
  }
  // The median of the first steps.
  double step_s() const { return median_of(durations(), kUnmeasured, options_.quiet); }
  // The durations of the steps so far.
  std::vector<double> durations() const {
    std::vector<double> result(starts_.size());
    std::adjacent_difference(starts_.begin(), starts_.end(), result.begin());
    if (!result.empty()) result.erase(result.begin());
    return result;
  }

 private:
  bool last_is_written() {
    Save& last = saves_.back();
    if (!last.written) last.written = last.ask();
    return last.written.has_value();
  }

  // The first steps use fresh memory.
  static constexpr size_t kUnmeasured = 2;

  static double median_of(const std::vector<double>& took, size_t begin, size_t count) {
    const auto first = took.begin() + static_cast<std::ptrdiff_t>(std::min(begin, took.size()));
    return median({first, first + std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(count),
                                                           took.end() - first)});
  }
  // The first step, from `step` + 1 on, that began after `time`.
  size_t steps_until(double time, size_t step) const {
    do ++step;
    while (step < starts_.size() && starts_[step] <= time);
    return std::min(step, starts_.size() - 1);
  }
  // The time of an undisturbed step: the mean of the medians of those just before and just
  // after a save, since memory and machine change during a run.
  double undisturbed(const std::vector<double>& took, size_t begin, size_t end) const {
    return (median_of(took, begin - options_.quiet, options_.quiet) +
            median_of(took, end, options_.quiet)) /
           2;
  }
  size_t quiet_steps() const {
    const double end = saves_.back().trigger + saves_.back().published_s();
    return static_cast<size_t>(std::ranges::count_if(starts_, [&](double t) { return t > end; }));
  }

  const SavesToMeasure& options_;
  std::vector<double> starts_;
  std::vector<Save> saves_;
};
