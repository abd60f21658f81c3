// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include "crochet/session/background_loop.h"
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

// How an engine is to run a session, in the engine's own words: TensorFlow takes a serialized
// ConfigProto. Empty: its defaults.
struct SessionConfig {
  std::string serialized = {};
};

// What is known of an output before it is computed.
struct OutputInfo {
  DType dtype = DType::kInvalid;
  std::optional<Shape> shape = {};
};

// The names under which collections of outputs are kept, with TensorFlow's spelling.
inline constexpr std::string_view kGlobalStepCollection = "global_step";
// At most one each; see Scaffold for what they are.
inline constexpr std::string_view kInitOpCollection = "init_op";
inline constexpr std::string_view kReadyOpCollection = "ready_op";
inline constexpr std::string_view kReadyForLocalInitOpCollection = "ready_for_local_init_op";
inline constexpr std::string_view kLocalInitOpCollection = "local_init_op";
inline constexpr std::string_view kSummaryOpCollection = "summary_op";
// What a run's summaries consist of: an output's collection says what kind of summary it is.
// "summaries" are real numbers, the points of curves, or, as TensorFlow's summary operations
// give them, strings that hold encoded Summary messages.
inline constexpr std::string_view kSummariesCollection = "summaries";
// Real tensors of any shape, of whose elements the distribution is shown; ours.
inline constexpr std::string_view kHistogramSummariesCollection = "histogram_summaries";
// Tensors of strings; ours.
inline constexpr std::string_view kTextSummariesCollection = "text_summaries";

// State of a session that is not a variable, and that runs change: a table, an iterator, a queue.
struct OtherState {
  std::string name;  // "rows"; of the operation that holds it.
  std::string kind;  // For messages: "MutableHashTableV2".
};

// What can be computed: operations with outputs, and variables. The engine's
// half of the contract with sessions; what all engines share is in this class.
//
// A graph is extended, then finalized, then run. Extending is for one thread.
class Graph {
 public:
  virtual ~Graph() = default;

  // A session over this graph, not yet restored; starts_initialized() says whether its variables
  // have values. `target` names where it runs; engines say what they take, "" is this process.
  // Throws: InvalidArgumentError for a target or settings that the engine does not know.
  virtual std::unique_ptr<Session> new_session(const std::string& target,
                                               const SessionConfig& config = {}) = 0;
  // Null if there is none.
  virtual const OperationInfo* find_operation(std::string_view name) const = 0;
  // All names, for messages.
  virtual std::vector<std::string> operation_names() const = 0;
  // The variables that are saved, those of all sessions of a cluster: the global ones.
  virtual std::vector<Variable> variables() const = 0;
  // The state that a snapshot of variables() lacks. A saver refuses to leave it out unless it is
  // told to: an engine that cannot save some of its state lists it here.
  virtual std::vector<OtherState> other_state() const { return {}; }
  // Engines that know nothing of an output before it is computed need not say anything.
  virtual OutputInfo output_info(const Output& output) const;

  // The number of completed steps, int64 or int32; unset if the graph counts none.
  // Fetched with a step that moves it, it is the value before. By default what
  // find_global_step() of session/global_step.h finds.
  virtual Output global_step() const;
  // What the graph calls that counter, for the names of curves: "global_step". By default the name
  // of the operation whose output global_step() is; "" without one.
  virtual std::string global_step_name() const;
  // Adds "global_step", an int64 of value 0, and what adds `increment` to it, after
  // `control_inputs`: the engine's half of the functions in session/global_step.h, which
  // programs call. Throws: UnimplementedError if the engine extends no graphs.
  virtual void add_global_step();
  virtual Operation add_global_step_increment(int64_t increment,
                                              std::vector<Output> control_inputs);

  // False if the variables of a new session have no values: then they get them from
  // a checkpoint, or from the operations that Scaffold describes. These are the engine's own,
  // for graphs that bring none along; they may be added to the graph now, and are none where
  // there is nothing to do.
  virtual bool starts_initialized() const { return true; }
  // Initialises all global variables.
  virtual Output default_init_op() { return {}; }
  // Gives the names of all variables that have no value, the global and the local ones.
  virtual Output default_ready_op() { return {}; }
  // Gives the names of the global variables that have no value.
  virtual Output default_ready_for_local_init_op() { return {}; }
  // Initialises local variables, those of this session alone that no checkpoint holds, and tables.
  virtual Output default_local_init_op() { return {}; }

  // The graph as bytes, in TensorFlow's MetaGraphDef or whatever the engine reads back; savers
  // keep it beside each checkpoint, in `<prefix>.meta`. Null, the default: there is nothing to
  // keep.
  virtual std::shared_ptr<const std::string> meta_graph() const { return nullptr; }

  // The operation of this name. Throws: NotFoundError with the names there are, or the closest.
  Operation operation(std::string_view name) const;
  // The output "name:k", or the only one of "name". Throws: NotFoundError as above, and for an
  // index too high; InvalidArgumentError for a name without an index if there are several outputs.
  Output output(std::string_view name) const;
  // The one of variables() that has this name. Throws: NotFoundError as above.
  Variable variable_named(std::string_view name) const;
  // What a request by this name runs: output(name), or an operation that has no outputs. An engine
  // may have a value for more names. Throws: as output().
  virtual Output requested(std::string_view name) const;
  // The same request with names replaced by what requested() finds. Throws as that, and
  // InvalidArgumentError for an output of another graph.
  Fetches resolve(const Fetches& fetches) const;

  // After finalize() whatever extends the graph throws FailedPreconditionError.
  void finalize() { finalized_ = true; }
  void unfinalize() { finalized_ = false; }
  bool finalized() const { return finalized_; }

  // Outputs that belong together under a name, in the order they were added.
  void add_to_collection(std::string_view collection, Output output);
  std::vector<Output> collection(std::string_view collection) const;
  std::vector<std::string> collection_names() const;  // Sorted.

  // Work that goes on beside the runs of every session over this graph.
  // Throws: InvalidArgumentError for null.
  void add_background_loop(std::shared_ptr<BackgroundLoop> loop);
  const std::vector<std::shared_ptr<BackgroundLoop>>& background_loops() const { return loops_; }

  // Things of higher layers that go with this graph, by their type, in the order they were
  // attached: its Saver, for one. Allowed after finalize().
  template <typename T>
  void attach(std::shared_ptr<T> object) {
    attachments_[typeid(T)].push_back(std::move(object));
  }
  template <typename T>
  std::vector<std::shared_ptr<T>> attached() const {
    std::vector<std::shared_ptr<T>> objects;
    if (const auto found = attachments_.find(typeid(T)); found != attachments_.end())
      for (const std::shared_ptr<void>& object : found->second)
        objects.push_back(std::static_pointer_cast<T>(object));
    return objects;
  }

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
  std::vector<std::shared_ptr<BackgroundLoop>> loops_;
  std::map<std::type_index, std::vector<std::shared_ptr<void>>> attachments_;
  std::vector<RegisteredSaveable> saveables_;
};

}  // namespace crochet
