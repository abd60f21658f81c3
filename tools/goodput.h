// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "crochet/journal/internal/read_journal.h"

namespace crochet::tool {

// What the time of a run is used for, in the order in which it is shown.
enum class TimeUse {
  kSteps,       // Steps that were made for the first time: the goodput.
  kRepeated,    // Steps that an earlier life, or the session before a recovery, had made already.
  kRestore,     // Creating sessions, with their restores, and waiting before a recovery.
  kSaving,      // Training waited for a save.
  kSlowed,      // By how much steps took longer while a save was being written.
  kHooks,       // All other work of hooks.
  kEvaluation,  // Evaluations within the run.
  kWaiting,     // For other ranks, until they agreed.
  kDown,        // From the last that was heard of a life to the start of the next one.
};
inline constexpr size_t kNumTimeUses = 9;

// "steps", "repeated steps", "restore", "blocked by saving", "slowed by saving", "hooks",
// "evaluation", "waiting for ranks", "down".
const char* time_use_name(TimeUse use);
// The same as a word for labels and JSON: "steps", "repeated", "restore", "saving", "slowed",
// "hooks", "evaluation", "waiting", "down".
const char* time_use_key(TimeUse use);

// Where the time of a run went, over all its lives, from the first to the last event of its
// journal, in seconds.
struct Goodput {
  std::array<double, kNumTimeUses> secs = {};
  int64_t steps = 0;           // Made for the first time.
  int64_t repeated_steps = 0;  // As far as the journal knows.
  std::map<std::string, double> by_hook = {};

  double of(TimeUse use) const { return secs[static_cast<size_t>(use)]; }
  double& of(TimeUse use) { return secs[static_cast<size_t>(use)]; }
  double total() const;
  // The part of the time that went into steps made for the first time; 1 for no time.
  double part() const;
};

Goodput goodput_of(const internal::JournalEntries& journal);

}  // namespace crochet::tool
