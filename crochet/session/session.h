// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "crochet/base/export.h"
#include "crochet/session/fetches.h"
#include "crochet/session/graph.h"
#include "crochet/session/run_metadata.h"
#include "crochet/session/run_options.h"
#include "crochet/session/snapshot.h"

namespace crochet::inline v0 {

// A new value for a variable.
struct Assignment {
  Variable variable;
  // The value's shape. Requires: compatible with the variable's.
  Shape shape;
  // Writes the value, row-major, into all of the memory passed to it: the variable's
  // own memory if that is in this process and row-major.
  std::function<void(std::span<std::byte>)> fill = {};
  // Returns the value, for a variable of strings, which has no bytes to fill.
  std::function<Tensor()> strings = {};
};

// Runs a graph: the interface between crochet and an engine. Engines implement
// the virtual functions; hooks, savers and wrappers use nothing else of an engine.
// The suite in testing/session_contract.h states the full contract.
//
// run() may be called from several threads. snapshot() and assign() exclude
// each other and runs that change variables. From within a running operation all of them
// throw FailedPreconditionError.
class CROCHET_EXPORT Session {
 public:
  virtual ~Session() = default;

  virtual Graph& graph() const = 0;
  virtual const std::string& target() const = 0;

  // Computes what `fetches` need, each operation at most once, and puts the
  // value of fetches[i] into results[i]; unset for an operation without a value.
  // What the run records goes to `metadata`, which is emptied first, unless that is null.
  // Requires: both spans have the same length.
  // Throws: FailedPreconditionError on a closed session; InvalidArgumentError for a fed value of
  // the wrong type or shape, or the same output fed twice; DeadlineExceededError after
  // the options' timeout; what an operation threw, with its type unchanged.
  virtual void run_into(std::span<const Output> fetches, const Feeds& feeds,
                        std::span<Tensor> results, const RunOptions& options,
                        RunMetadata* metadata) = 0;

  // The current values of these variables; later runs do not change them. Must be
  // cheap for the caller, which is the training thread between two steps.
  virtual Snapshot snapshot(std::span<const Variable> variables) = 0;

  // True if it is certain that the run that has just thrown has changed no variable. An engine that
  // cannot know says no.
  virtual bool is_unchanged_by_error() const { return false; }

  // Gives many variables new values. An exception of a `fill` or `strings` ends the call and
  // leaves its variable, and those after it, undefined.
  virtual void assign(std::span<const Assignment> assignments) = 0;

  // Ends the session; runs in flight end first. Calling it again does nothing.
  virtual void close() = 0;

  // Like run_into, for requests of any structure. Names are looked up in the graph.
  FetchValues run(const Fetches& fetches, const Feeds& feeds = {}, const RunOptions& options = {},
                  RunMetadata* metadata = nullptr);

  // Read or assign one variable, by its name in checkpoints, through snapshot() and assign().
  //
  //   Tensor rate = session.read_variable("learning_rate");
  //   session.assign_variable("learning_rate", Tensor::scalar(0.01f));
  //
  // Throw: NotFoundError with the existing names, or the closest; InvalidArgumentError for a
  // value of another type; what snapshot() and assign() throw.
  Tensor read_variable(std::string_view name);
  void assign_variable(std::string_view name, const Tensor& value);
};

// The largest number of completed steps: 2^60 steps of a nanosecond take 36 years. Leaves hooks
// room to add to a step, and to subtract from it, without overflow.
inline constexpr int64_t kMaxGlobalStep = int64_t{1} << 60;

namespace internal {

[[noreturn]] CROCHET_EXPORT void throw_invalid_global_step(int64_t step);

}  // namespace internal

// Returns the step. Throws: FailedPreconditionError for a step above kMaxGlobalStep or below its
// negative, as a damaged or foreign checkpoint may contain.
inline int64_t checked_global_step(int64_t step) {
  if (step > kMaxGlobalStep || step < -kMaxGlobalStep) internal::throw_invalid_global_step(step);
  return step;
}
// The checked step in a fetched value of Graph::global_step(). Throws: as above, and
// InvalidArgumentError for a tensor that is not a scalar int32 or int64.
CROCHET_EXPORT int64_t global_step_value(const Tensor& value);

// The number of completed steps, read in a run of its own. Throws: FailedPreconditionError if the
// graph counts none; as global_step_value().
CROCHET_EXPORT int64_t read_global_step(Session& session);

}  // namespace crochet::inline v0
