// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "crochet/base/clock.h"
#include "crochet/session/session.h"

namespace crochet::inline v0 {
class Saver;
}  // namespace crochet::inline v0

namespace crochet::inline v0::internal {

class ExternalBundle;
class VariableSelection;

// The parts of one checkpoint that processes write together, as the one that publishes it sees
// them. What is not published is removed by the destructor. Used by one thread at a time.
class Contributions {
 public:
  virtual ~Contributions() = default;
  Contributions(const Contributions&) = delete;
  Contributions& operator=(const Contributions&) = delete;

  // Where this process writes its own part.
  virtual const std::string& own_prefix() const = 0;
  // Waits until the parts of all others are durable, and merges them with its own. Requires: that
  // is durable. Throws: the error of a process that could not write its part; DeadlineExceededError
  // that names those whose parts are missing; DataLossError for a damaged part. After these it has
  // failed. What the file system throws, after which it may be called again unless it has failed.
  virtual void collect(Clock& clock) = 0;
  // The merged bundle, which is durable; null until collect() has returned.
  virtual ExternalBundle* merged() = 0;
  // True once all parts are durable.
  virtual bool is_complete() const = 0;
  virtual bool failed() const = 0;
  virtual void throw_if_failed() const = 0;

 protected:
  Contributions() = default;
};

// The other processes that have parts of the state, where a save needs them.
class JointSave {
 public:
  virtual ~JointSave() = default;

  // Has the others capture their parts of the state, which is between two steps, for the checkpoint
  // `prefix`. Adds those that are small to the snapshot; returns the others, or null if there are
  // none. Throws: FailedPreconditionError if they are not after the same step.
  virtual std::shared_ptr<Contributions> begin(const Saver& saver,
                                               const VariableSelection& selection,
                                               const std::string& prefix, Snapshot& snapshot) = 0;
};

}  // namespace crochet::inline v0::internal
