// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/session/fetches.h"
#include "crochet/session/output.h"
#include "crochet/session/saveable.h"

namespace crochet {

class Session;

// An object that is saved and restored with the variables of a graph.
struct RegisteredSaveable {
  std::string name;  // "batches/generator", "hooks/EarlyStoppingHook".
  std::shared_ptr<Saveable> object;
  // State that a checkpoint may lack or have too much of, with a warning: that
  // of hooks, which come and go between runs.
  bool optional = false;
};

// The names under which collections of outputs are kept, with TensorFlow's spelling.
//
// What a run's summaries consist of: an output's collection says what kind of summary it is.
// "summaries" are real numbers, the points of curves, or, as TensorFlow's summary operations
// give them, strings that hold encoded Summary messages.
inline constexpr std::string_view kSummariesCollection = "summaries";
// Real tensors of any shape, of whose elements the distribution is shown; ours.
inline constexpr std::string_view kHistogramSummariesCollection = "histogram_summaries";
// Tensors of strings; ours.
inline constexpr std::string_view kTextSummariesCollection = "text_summaries";

// What can be computed: operations with outputs, and variables. The engine's
// half of the contract with sessions; what all engines share is in this class.
//
// A graph is extended, then finalized, then run. Extending is for one thread.
class Graph {
 public:
  virtual ~Graph() = default;

  // A session over this graph, its variables not yet initialised or restored.
  // `target` names where it runs; engines say what they take, "" is this process.
  virtual std::unique_ptr<Session> new_session(const std::string& target) = 0;
  // Null if there is none.
  virtual const OperationInfo* find_operation(std::string_view name) const = 0;
  // All names, for messages.
  virtual std::vector<std::string> operation_names() const = 0;
  virtual std::vector<Variable> variables() const = 0;
  // The number of completed steps, int64 or int32; unset if the graph counts none.
  // Fetched with a step that moves it, it is the value before.
  virtual Output global_step() const = 0;
  // The graph as bytes, in TensorFlow's MetaGraphDef or whatever the engine reads back; savers
  // keep it beside each checkpoint, in `<prefix>.meta`. Null, the default: there is nothing to
  // keep.
  virtual std::shared_ptr<const std::string> meta_graph() const { return nullptr; }

  // The operation of this name. Throws: NotFoundError that lists the names there are.
  Operation operation(std::string_view name) const;
  // The output "name:k", or the only one of "name". Throws: NotFoundError as above, and for an
  // index too high; InvalidArgumentError for a name without an index if there are several outputs.
  Output output(std::string_view name) const;
  // The same request with names replaced by outputs. Throws as output(), and
  // InvalidArgumentError for an output of another graph.
  Fetches resolve(const Fetches& fetches) const;

  // After finalize() whatever extends the graph throws FailedPreconditionError.
  void finalize() { finalized_ = true; }
  void unfinalize() { finalized_ = false; }
  bool finalized() const { return finalized_; }

  // Outputs that belong together under a name, in the order they were added.
  void add_to_collection(std::string_view collection, Output output);
  std::vector<Output> collection(std::string_view collection) const;

  // Objects that belong in this graph's checkpoints. Allowed after finalize(): hooks
  // come and go with the sessions. Throws: AlreadyExistsError for a name that is taken.
  void add_saveable(RegisteredSaveable saveable);
  void remove_saveable(std::string_view name);
  const std::vector<RegisteredSaveable>& saveables() const { return saveables_; }

 protected:
  // Throws: FailedPreconditionError, naming what was to be added, after finalize().
  void check_not_finalized(std::string_view addition) const;

 private:
  bool finalized_ = false;
  std::map<std::string, std::vector<Output>, std::less<>> collections_;
  std::vector<RegisteredSaveable> saveables_;
};

}  // namespace crochet
