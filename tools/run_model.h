// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "crochet/io/file_system.h"
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

// Throws: as read_journal(); DataLossError for a journal without an event.
RunModel read_run(FileSystem& files, const std::string& directory, const Machine& machine);

// The directories at and below this one that have a journal, in order. Links are not followed.
// Throws: NotFoundError if the directory is missing; ResourceExhaustedError for more than 100,000
// entries.
std::vector<std::string> find_runs(FileSystem& files, const std::string& directory);

}  // namespace crochet::tool
