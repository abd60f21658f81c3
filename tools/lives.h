// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "crochet/base/internal/process_facts.h"
#include "crochet/journal/internal/read_journal.h"

namespace crochet::tool {

// A process that made a part of a run, as its journal describes it.
struct Life {
  int64_t number = 0;
  internal::ProcessFacts process = {};
  std::string command = {};
  double start = 0;  // Of the first event, in seconds since 1970-01-01 UTC.
  double last = 0;   // Of the last one.
  int64_t first_step = 0;
  int64_t last_step = 0;                     // As far as it was recorded.
  std::optional<int64_t> of_steps = {};      // The step at which it is to end.
  std::string restored_from = {};            // A checkpoint; empty for a fresh start.
  std::optional<int64_t> saving = {};        // The step of a save that has not ended.
  std::map<int64_t, double> snapshots = {};  // When the state of a step was taken to be saved.
  std::string stop_reason = {};  // "SignalHook: SIGTERM"; empty if nothing asked for a stop.
  std::string error = {};        // With which it ended.
  bool has_ended = false;        // It could write that down.
  std::optional<int> exit_code = {};
  std::optional<int> signal = {};  // The one that asked it to stop.
};

// By number. Never empty for a journal that has an event.
std::vector<Life> lives_of(const internal::JournalEntries& journal);

}  // namespace crochet::tool
