// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "crochet/base/clock.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/summary/summary_writer.h"

namespace crochet::inline v0::internal {

// The points of an evaluator: what it measured, and from which checkpoint. It is kept in the
// metrics.jsonl of the evaluator's directory, so that one that is started again knows what an
// earlier one has measured. There, each line has the time of the checkpoint under
// "checkpoint/time".
//
// A point is withdrawn only if its checkpoint is known to be replaced, or lost: the job made
// another one of the same or an earlier step later, and that of the point is no longer there.
// Retention removes checkpoints too; their points stay, as they cannot be measured again.
class EvaluationCurve {
 public:
  // Reads what the directory has.
  // Throws: InvalidArgumentError if it has the curves of another writer, which restarts withdraw
  // together with these; FailedPreconditionError while another evaluator writes there.
  EvaluationCurve(std::string directory, FileSystem& files, Clock& clock);

  // What was measured from this checkpoint; unset if nothing was.
  std::optional<Metrics> find(const std::string& prefix) const;
  // Adds what was measured from the checkpoint, which may be gone by now. `time` was its time_of().
  void add(const std::string& prefix, double time, Metrics metrics);
  // When the checkpoint was made, in seconds since 1970-01-01 UTC.
  double time_of(const std::string& prefix) const;

 private:
  // The metrics, with the checkpoint's time.
  using Points = std::map<int64_t, Metrics>;

  void lock();
  void read();
  // True if the checkpoint of a point is lost, which the job shows by having made `newer`, of an
  // earlier step, later.
  bool is_lost(int64_t step, const std::string& newer, double time_of_newer) const;
  void withdraw_lost(const std::string& prefix, double time);
  // Writes the points of this step and later ones again, and withdraws what was there.
  void write_from(int64_t step);
  // True if no tag has a point from this step on: then the curves just continue.
  bool is_after_all(int64_t step, const Metrics& metrics) const;

  const std::string directory_;
  FileSystem& files_;  // Not owned.
  std::optional<DirectoryLock> lock_;
  std::shared_ptr<SummaryWriter> writer_;
  Points points_;
};

}  // namespace crochet::inline v0::internal
