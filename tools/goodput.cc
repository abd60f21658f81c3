// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/goodput.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace crochet::tool {
namespace {

using internal::JournalEntry;

struct Use {
  const char* name;
  const char* key;
};
constexpr std::array<Use, kNumTimeUses> kUses = {{{"steps", "steps"},
                                                  {"repeated steps", "repeated"},
                                                  {"restore", "restore"},
                                                  {"blocked by saving", "saving"},
                                                  {"slowed by saving", "slowed"},
                                                  {"hooks", "hooks"},
                                                  {"evaluation", "evaluation"},
                                                  {"waiting for ranks", "waiting"},
                                                  {"down", "down"}}};

// The fields of an event that have these times of its life so far.
constexpr std::array<std::pair<TimeUse, const char*>, 6> kFields = {
    {{TimeUse::kRestore, "setup_secs"},
     {TimeUse::kSaving, "saving_secs"},
     {TimeUse::kSlowed, "slowed_secs"},
     {TimeUse::kEvaluation, "evaluation_secs"},
     {TimeUse::kHooks, "hooks_secs"},
     {TimeUse::kWaiting, "waiting_secs"}}};
constexpr std::string_view kHookField = "hooks/";

// A time that a file has: a century at most.
double sane(double secs) {
  constexpr double kCentury = 100 * 365 * 24 * 3600.0;
  return secs > 0 ? std::min(secs, kCentury) : 0;
}

// Of one life after another.
class Ledger {
 public:
  explicit Ledger(Goodput& sums) : sums_(sums) {}

  void add(const JournalEntry& entry) {
    if (entry.stamp.life != life_) begin_life(entry);
    const double passed = sane(entry.stamp.steady - last_.steady);
    const bool goes_back = entry.event == "restore";
    // A restore is at the step to which it goes.
    // What is logged before the restore, or the first step, may have the step of either.
    is_placed_ = is_placed_ || (entry.event != "warning" && entry.event != "error" &&
                                entry.event != "start" && entry.event != "recovery");
    const int64_t step = goes_back || !is_placed_ ? step_ : std::max(step_, entry.stamp.step);
    open_secs_ += passed;
    add_steps(step);
    if (goes_back) step_ = entry.stamp.step;
    if (goes_back && !is_first_known_) furthest_ = step_;
    if (goes_back) is_first_known_ = true;
    if (entry.number(kFields.front().second)) settle(entry);
    last_ = entry.stamp;
  }
  void end() { close_life(); }

 private:
  void begin_life(const JournalEntry& entry) {
    if (life_) {
      close_life();
      sums_.of(TimeUse::kDown) += sane(entry.stamp.time - last_.time);
    }
    life_ = entry.stamp.life;
    last_ = entry.stamp;
    step_ = 0;
    known_ = {};
    known_hooks_.clear();
    has_steps_ = false;
    is_placed_ = false;
  }

  void add_steps(int64_t step) {
    if (step == step_) return;
    has_steps_ = is_first_known_ = true;
    const int64_t repeated = std::clamp<int64_t>(furthest_ - step_, 0, step - step_);
    open_repeated_ += repeated;
    open_steps_ += step - step_ - repeated;
    furthest_ = std::max(furthest_, step);
    step_ = step;
  }

  // The time since the last event that had the times so far is that of what they have gained, and
  // of steps.
  void settle(const JournalEntry& entry) {
    std::array<double, kFields.size()> gained = {};
    for (size_t i = 0; i < kFields.size(); ++i) {
      const double now = sane(entry.number(kFields[i].second).value_or(known_[i]));
      gained[i] = std::max(0.0, now - std::exchange(known_[i], now));
    }
    const double sum = std::accumulate(gained.begin(), gained.end(), 0.0);
    // What was measured in a sample may be more than there was.
    const double scale = sum > open_secs_ ? open_secs_ / sum : 1;
    for (size_t i = 0; i < kFields.size(); ++i) {
      sums_.of(kFields[i].first) += scale * gained[i];
      open_secs_ -= scale * gained[i];
    }
    for (const auto& [field, value] : entry.numbers)
      if (field.starts_with(kHookField)) {
        const double now = sane(value);
        double& known = known_hooks_[field];
        sums_.by_hook[field.substr(kHookField.size())] +=
            std::max(0.0, now - std::exchange(known, now));
      }
    settle_steps();
  }

  void settle_steps() {
    open_secs_ = std::max(0.0, open_secs_);
    const int64_t all = open_steps_ + open_repeated_;
    if (!has_steps_) {  // It did not come to its first step.
      sums_.of(TimeUse::kRestore) += open_secs_;
    } else {
      const double repeated =
          all == 0 ? 0 : static_cast<double>(open_repeated_) / static_cast<double>(all);
      sums_.of(TimeUse::kRepeated) += repeated * open_secs_;
      sums_.of(TimeUse::kSteps) += (1 - repeated) * open_secs_;
    }
    sums_.steps += open_steps_;
    sums_.repeated_steps += open_repeated_;
    open_secs_ = 0;
    open_steps_ = open_repeated_ = 0;
  }
  void close_life() { settle_steps(); }

  Goodput& sums_;
  std::optional<int64_t> life_;
  internal::JournalStamp last_;
  int64_t step_ = 0;             // Of the life.
  int64_t furthest_ = 0;         // Of the run.
  bool is_first_known_ = false;  // The step at which the run began.
  bool has_steps_ = false;       // Of the life.
  bool is_placed_ = false;       // The life has said at which step it begins.
  std::array<double, kFields.size()> known_ = {};
  std::map<std::string, double> known_hooks_;
  // Since the last event that had the times so far.
  double open_secs_ = 0;
  int64_t open_steps_ = 0;
  int64_t open_repeated_ = 0;
};

}  // namespace

const char* time_use_name(TimeUse use) { return kUses[static_cast<size_t>(use)].name; }
const char* time_use_key(TimeUse use) { return kUses[static_cast<size_t>(use)].key; }

double Goodput::total() const { return std::accumulate(secs.begin(), secs.end(), 0.0); }

double Goodput::part() const {
  const double all = total();
  return all > 0 ? of(TimeUse::kSteps) / all : 1;
}

Goodput goodput_of(const internal::JournalEntries& journal) {
  Goodput sums;
  Ledger ledger(sums);
  for (const JournalEntry& entry : journal.entries) ledger.add(entry);
  ledger.end();
  return sums;
}

}  // namespace crochet::tool
