// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/save_interval.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/journal/internal/read_journal.h"

namespace crochet::inline v0::internal {
namespace {

constexpr size_t kNumMeasured = 4;
// A change of less than that is not worth a line in the log.
constexpr double kWorthMentioning = 1.25;

}  // namespace

void check_interval_rule(const SaveIntervalRule& rule, const std::string& path) {
  if (rule.budget_percent && !(*rule.budget_percent > 0 && *rule.budget_percent <= 50))
    throw InvalidArgumentError(fmt::format(
        "{}budget_percent is {}, expected more than 0 and at most 50", path, *rule.budget_percent));
  if (rule.mean_secs_between_failures && !(*rule.mean_secs_between_failures > 0))
    throw InvalidArgumentError(
        fmt::format("{}mean_secs_between_failures is {}, expected more than 0", path,
                    *rule.mean_secs_between_failures));
}

FailureHistory failures_of(FileSystem& files, const std::string& directory) {
  struct Life {
    double first = 0;
    double last = 0;
    bool has_failed = true;
  };
  std::map<int64_t, Life> lives;
  try {
    for (const JournalEntry& entry : read_journal(files, directory).entries) {
      const auto [life, is_new] = lives.try_emplace(entry.stamp.life);
      if (is_new) life->second.first = entry.stamp.steady;
      life->second.last = entry.stamp.steady;
      if (entry.event == "end") life->second.has_failed = entry.text("why") != "stop";
    }
  } catch (const Error&) {
    return {};
  }
  FailureHistory history;
  for (const auto& [number, life] : lives) {
    history.secs += std::max(0.0, life.last - life.first);
    if (life.has_failed) ++history.num_failures;
  }
  return history;
}

void SaveInterval::record(double blocked_secs, double write_secs, double slowed_secs) {
  const double slowed = slowed_secs - std::exchange(slowed_secs_, slowed_secs);
  costs_.push_back({.blocked = blocked_secs, .slowed = std::max(0.0, slowed), .write = write_secs});
  if (costs_.size() > kNumMeasured) costs_.pop_front();
  has_new_ = true;
}

SaveInterval::Cost SaveInterval::mean_cost() const {
  Cost sum{};
  for (const Cost& cost : costs_) {
    sum.blocked += cost.blocked;
    sum.slowed += cost.slowed;
    sum.write += cost.write;
  }
  const auto n = static_cast<double>(costs_.size());
  return {sum.blocked / n, sum.slowed / n, sum.write / n};
}

std::optional<double> SaveInterval::mean_secs_between_failures() const {
  if (rule_.mean_secs_between_failures) return rule_.mean_secs_between_failures;
  if (history_.num_failures < 2) return std::nullopt;
  return history_.secs / static_cast<double>(history_.num_failures);
}

// With a mean time M between failures, the least time is lost to saves of cost C and to repeated
// steps if a save is due every sqrt(2 C M) (Young, 1974).
std::optional<SaveInterval::Choice> SaveInterval::take_change() {
  if (!is_set() || !std::exchange(has_new_, false)) return std::nullopt;
  const Cost cost = mean_cost();
  const double costs = cost.blocked + cost.slowed;
  double wanted = 0;
  std::string why;
  if (const auto between = mean_secs_between_failures()) {
    wanted = std::sqrt(2 * costs * *between);
    why = fmt::format("the run fails every {:.0f} s on average{}", *between,
                      rule_.mean_secs_between_failures
                          ? ""
                          : fmt::format(" (its last {} failures)", history_.num_failures));
  } else {
    // Of a rule without a budget, nothing is known yet.
    const double percent = rule_.budget_percent.value_or(1);
    wanted = costs * 100 / percent;
    why = fmt::format("{:g} % of the time may be for saves", percent);
  }
  const double least = std::max(kMinSecs, cost.write);
  const double secs = std::clamp(wanted, least, std::max(kMaxSecs, least));
  if (secs > wanted)
    why += fmt::format(", and a shorter interval than {:.3g} s is of no use", least);
  else if (secs < wanted)
    why += ", and an hour is the longest interval";
  if (last_secs_ > 0 && secs < last_secs_ * kWorthMentioning &&
      secs * kWorthMentioning > last_secs_)
    return std::nullopt;
  last_secs_ = secs;
  return Choice{secs,
                fmt::format("a checkpoint is saved every {:.3g} s: a save makes training wait "
                            "{:.3g} s, slows it by {:.3g} s and takes {:.3g} s; {}",
                            secs, cost.blocked, cost.slowed, cost.write, why)};
}

}  // namespace crochet::inline v0::internal
