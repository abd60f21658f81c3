// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// By what the interval of a run's saves is chosen, if not by the program.
struct SaveIntervalRule {
  std::optional<double> budget_percent = {};
  std::optional<double> mean_secs_between_failures = {};

  bool is_set() const { return budget_percent || mean_secs_between_failures; }
};

// That of options which have it under these names.
template <typename Options>
SaveIntervalRule interval_rule(const Options& options) {
  return {.budget_percent = options.budget_percent,
          .mean_secs_between_failures = options.mean_secs_between_failures};
}

// Throws: InvalidArgumentError, with the option's path, unless the percentage is above 0 and at
// most 50, and the time above 0.
CROCHET_EXPORT void check_interval_rule(const SaveIntervalRule& rule, const std::string& path);

// How often a run failed: what its journal says of the lives before this one.
struct FailureHistory {
  int64_t num_failures = 0;
  double secs = 0;  // In which all lives together ran.
};
// Nothing without a journal that can be read.
CROCHET_EXPORT FailureHistory failures_of(FileSystem& files, const std::string& directory);

// How long a run trains between two saves, from what these cost it.
class CROCHET_EXPORT SaveInterval {
 public:
  // Until a save was measured.
  static constexpr double kFirstSecs = 60;
  // The limits; if a save takes longer than the largest, it is as long as that.
  static constexpr double kMinSecs = 1;
  static constexpr double kMaxSecs = 3600;

  explicit SaveInterval(SaveIntervalRule rule) : rule_(rule) {}

  bool is_set() const { return rule_.is_set(); }
  // Used unless the rule has the mean time, and there are two failures or more.
  void learn(const FailureHistory& history) { history_ = history; }

  // What one save cost. Training waited for `blocked_secs`, and it took `write_secs` to write;
  // `slowed_secs` are those of the run so far in which steps were slower (RunTimes::slowed).
  void record(double blocked_secs, double write_secs, double slowed_secs);
  // False if no save was recorded since the last take_change().
  bool has_new() const { return has_new_; }
  // The interval and why, if it differs enough from what was returned last; logged by the caller.
  struct Choice {
    double secs;
    std::string text;
  };
  std::optional<Choice> take_change();

 private:
  struct Cost {
    double blocked;
    double slowed;
    double write;
  };

  Cost mean_cost() const;
  std::optional<double> mean_secs_between_failures() const;

  const SaveIntervalRule rule_;
  FailureHistory history_;
  std::deque<Cost> costs_;  // Of the last saves.
  double slowed_secs_ = 0;
  bool has_new_ = false;
  double last_secs_ = 0;
};

}  // namespace crochet::inline v0::internal
