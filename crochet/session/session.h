// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/session/fetches.h"
#include "crochet/session/graph.h"
#include "crochet/session/run_metadata.h"
#include "crochet/session/run_options.h"
#include "crochet/session/snapshot.h"

namespace crochet {

// A new value for a variable.
struct Assignment {
  Variable variable;
  // The value's shape. Requires: compatible with the variable's.
  Shape shape;
  // Writes the value, row-major, into all of the memory it is given: that of
  // the variable itself if that lies in this process and in this order.
  std::function<void(std::span<std::byte>)> fill = {};
  // Gives the value, for a variable of strings, which has no bytes to be filled.
  std::function<Tensor()> strings = {};
};

// Runs a graph: the contract between crochet and an engine. Engines implement
// the virtual functions; hooks, savers and wrappers know nothing else of them.
// The suite in testing/session_contract.h says the rest.
//
// run() may be called from several threads. snapshot() and assign() exclude
// runs that change variables, and one another. From within a running operation all of them
// throw FailedPreconditionError.
class Session {
 public:
  virtual ~Session() = default;

  virtual Graph& graph() const = 0;
  virtual const std::string& target() const = 0;

  // Computes what `fetches` need, each operation at most once, and puts the
  // value of fetches[i] into results[i]; unset for an operation without a value.
  // What the run records of itself goes to `metadata` unless that is null.
  // Requires: both spans have the same length.
  // Throws: FailedPreconditionError on a closed session; InvalidArgumentError for a fed value of
  // a wrong type or shape, or the same output fed twice; DeadlineExceededError after
  // the options' timeout; what an operation threw, its type unchanged.
  virtual void run_into(std::span<const Output> fetches, const Feeds& feeds,
                        std::span<Tensor> results, const RunOptions& options,
                        RunMetadata* metadata) = 0;

  // The values of these variables now. They will never change, whatever is run later;
  // cheap for the caller, who is on the training thread between two steps.
  virtual Snapshot snapshot(std::span<const Variable> variables) = 0;

  // Gives many variables new values. What a `fill` or `strings` throws ends the call and
  // leaves the variable it was for, and those behind it, undefined.
  virtual void assign(std::span<const Assignment> assignments) = 0;

  // Ends the session; runs in flight end first. Calling it again does nothing.
  virtual void close() = 0;

  // As run_into, for requests of any structure. Names are looked up in the graph.
  FetchValues run(const Fetches& fetches, const Feeds& feeds = {}, const RunOptions& options = {},
                  RunMetadata* metadata = nullptr);

  // The value of one variable, by its name in checkpoints, as snapshot() and assign() have it.
  //
  //   Tensor rate = session.read_variable("learning_rate");
  //   session.assign_variable("learning_rate", Tensor::scalar(0.01f));
  //
  // Throw: NotFoundError with the names there are, or the closest; what those throw.
  // InvalidArgumentError for a value of another type.
  Tensor read_variable(std::string_view name);
  void assign_variable(std::string_view name, const Tensor& value);
};

// The largest number of completed steps: 2^60 steps of a nanosecond take 36 years. Hooks may add to
// a step and subtract from it without an overflow.
inline constexpr int64_t kMaxGlobalStep = int64_t{1} << 60;

// Returns the step. Throws: FailedPreconditionError for one beyond kMaxGlobalStep, or below its
// negative, as a damaged or foreign checkpoint may have it.
int64_t checked_global_step(int64_t step);
// The checked step that a fetched Graph::global_step() is. Throws: as above, and
// InvalidArgumentError for a tensor that is not a scalar int32 or int64.
int64_t global_step_value(const Tensor& value);

// The number of completed steps, in a run of its own. Throws: FailedPreconditionError if the graph
// counts none; as global_step_value().
int64_t read_global_step(Session& session);

}  // namespace crochet
