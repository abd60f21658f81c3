// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/directory/internal/found_checkpoint.h"
#include "crochet/io/file_system.h"
#include "crochet/journal/internal/read_journal.h"
#include "crochet/summary/event_file_reader.h"
#include "tools/curve.h"
#include "tools/goodput.h"
#include "tools/lives.h"
#include "tools/run_end.h"

namespace crochet::tool {

// A run, as its files describe it: its journal, its checkpoints and its metrics. Nothing of them is
// trusted.
struct RunModel {
  std::string directory = {};
  std::vector<Life> lives = {};  // At least one.
  RunEnd end = {};               // Of the last one.
  // The newest checkpoint, and when its state was taken.
  std::optional<int64_t> saved_step = {};
  std::optional<double> saved_time = {};
  // The last point of a curve: a loss if there is one, and none of those that crochet measures
  // itself. Empty without one.
  std::string metric_name = {};
  double metric_value = 0;

  const Life& last() const { return lives.back(); }
  // Of its last life; unset before the journal has a second step of it.
  std::optional<double> steps_per_sec() const;
};

// The same with all that its files say.
struct RunHistory {
  RunModel run = {};
  internal::JournalEntries journal = {};
  std::vector<RunEnd> ends = {};  // Of each life.
  Goodput goodput = {};
  std::map<int64_t, Metrics> points = {};                   // Of the curves, by step.
  std::vector<internal::FoundCheckpoint> checkpoints = {};  // Those of the run, by step.
};

// Throw: as read_journal(); DataLossError for a journal without an event.
RunHistory read_history(FileSystem& files, const std::string& directory, const Machine& machine);
RunModel read_run(FileSystem& files, const std::string& directory, const Machine& machine);

// How the last process began; null if the journal does not say.
const internal::JournalEntry* last_start(const RunHistory& history);

// The fields of a start whose names begin with `beginning`, without that, and their values as
// texts.
std::map<std::string, std::string> start_fields(const internal::JournalEntry& start,
                                                std::string_view beginning = "");

// True for a curve that crochet measures itself.
bool is_of_crochet(const std::string& curve);

// The curves of a run by step: first the one that metric_name names, then the others of the program
// by name, then those that crochet measures itself.
std::vector<Curve> curves_of(const RunHistory& history);

// The directories at and below this one that have a journal, in order. Links are not followed.
// Throws: NotFoundError if the directory is missing; ResourceExhaustedError for more than 100,000
// entries.
std::vector<std::string> find_runs(FileSystem& files, const std::string& directory);

}  // namespace crochet::tool
