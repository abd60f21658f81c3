// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/session/fetches.h"
#include "crochet/session/output.h"
#include "crochet/session/saveable.h"
#include "crochet/tensor/shape.h"

namespace crochet::inline v0 {

class Session;

// The work of one thread.
struct BackgroundTask {
  std::string name;           // Of the thread.
  std::function<void()> run;  // Called at most once.
};

// Work that runs in threads of its own during the runs of a session, such as filling a queue: see
// QueueRunner. A graph holds its loops; a MonitoredSession starts them with each session it
// creates, before calling after_create_session of any hook, and ends them with it.
//
// Thread-safe.
class CROCHET_EXPORT BackgroundLoop {
 public:
  virtual ~BackgroundLoop() = default;

  virtual const std::string& name() const = 0;
  // The tasks for this session, to run until `stop` is requested; none while earlier tasks for it
  // are still running. An error thrown by a task stops the session. If `stop` cannot be requested,
  // no one receives errors either: then tasks do not throw.
  // Requires: the session outlives the tasks.
  virtual std::vector<BackgroundTask> tasks(Session& session, std::stop_token stop) = 0;
};

class Session;

namespace internal {

// Has another address for each type, in all libraries and the program. Other than std::type_index,
// programs without run-time type information can use it.
template <typename T>
CROCHET_EXPORT inline char type_key = 0;

}  // namespace internal

// An object that is saved and restored with the variables of a graph.
struct RegisteredSaveable {
  std::string name;  // "batches/generator", "hooks/EarlyStoppingHook".
  std::shared_ptr<Saveable> object;
  // True for state that a checkpoint may lack, or have extra, with only a warning: the state
  // of hooks, which may differ from run to run.
  bool optional = false;
};

// How an engine should run a session, in the engine's own format: TensorFlow takes a serialized
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
// Each has at most one output; see Scaffold for their meaning.
inline constexpr std::string_view kInitOpCollection = "init_op";
inline constexpr std::string_view kReadyOpCollection = "ready_op";
inline constexpr std::string_view kReadyForLocalInitOpCollection = "ready_for_local_init_op";
inline constexpr std::string_view kLocalInitOpCollection = "local_init_op";
inline constexpr std::string_view kSummaryOpCollection = "summary_op";
// What a run's summaries consist of: an output's collection determines its kind of summary.
// "summaries" are real numbers, the points of curves, or strings that hold encoded Summary
// messages, as produced by TensorFlow's summary operations.
inline constexpr std::string_view kSummariesCollection = "summaries";
// Real tensors of any shape whose distribution of elements is shown; not in TensorFlow.
inline constexpr std::string_view kHistogramSummariesCollection = "histogram_summaries";
// Tensors of strings; not in TensorFlow.
inline constexpr std::string_view kTextSummariesCollection = "text_summaries";
// Tensors of uint8 [height, width, channels]; not in TensorFlow.
inline constexpr std::string_view kImageSummariesCollection = "image_summaries";

// State of a session that runs change, but that is not a variable: a table, an iterator, a queue.
struct OtherState {
  std::string name;  // "rows"; of the operation that holds it.
  std::string kind;  // For messages: "MutableHashTableV2".
};

// What can be computed: operations with outputs, and variables. Engines derive from it; what all
// engines share is in this class.
//
// A graph is extended, then finalized, then run. Only one thread may extend it.
class CROCHET_EXPORT Graph {
 public:
  virtual ~Graph() = default;

  // A session over this graph, not yet restored; starts_initialized() returns whether its variables
  // have values. `target` names where it runs: "" is this process, other values depend on the
  // engine. Throws: InvalidArgumentError for a target or settings that the engine does not know.
  virtual std::unique_ptr<Session> new_session(const std::string& target = {},
                                               const SessionConfig& config = {}) = 0;
  // Null if there is no such operation.
  virtual const OperationInfo* find_operation(std::string_view name) const = 0;
  // All names, for messages.
  virtual std::vector<std::string> operation_names() const = 0;
  // The variables to save: the global ones, which all sessions of a cluster share.
  virtual std::vector<Variable> variables() const = 0;
  // The shape that the value of a variable has now; Variable::shape() is the shapes that it may
  // have.
  virtual Shape present_shape(const Variable& variable) const { return variable.shape(); }
  // The state that a snapshot of variables() lacks: an engine that cannot save some of its state
  // lists it here. A saver refuses to omit it unless its options allow that.
  virtual std::vector<OtherState> other_state() const { return {}; }
  // By default nothing is known of an output before it is computed.
  virtual OutputInfo output_info(const Output& output) const;

  // The number of completed steps, int64 or int32; unset if the graph counts none.
  // Fetched with a run that increments it, it is the value from before. By default what
  // find_global_step() finds.
  virtual Output global_step() const;
  // The name of that counter, for the names of curves: "global_step". By default the name of the
  // operation whose output global_step() is; "" without one.
  virtual std::string global_step_name() const;
  // Add "global_step", an int64 of value 0, and an operation that adds `increment` to it after
  // `control_inputs`: the engine's part of get_or_create_global_step(), which programs call. Throw:
  // UnimplementedError if the engine cannot extend graphs.
  virtual void add_global_step();
  virtual Operation add_global_step_increment(int64_t increment,
                                              std::vector<Output> control_inputs);

  // False if the variables of a new session have no values: then they get them from
  // a checkpoint, or from the operations that Scaffold describes. The functions below return the
  // engine's own such operations, for graphs that have none; they may add them to the graph, and
  // return an unset Output where there is nothing to do.
  virtual bool starts_initialized() const { return true; }
  // Initialises all global variables.
  virtual Output default_init_op() { return {}; }
  // Gives the names of all variables that have no value, global and local.
  virtual Output default_ready_op() { return {}; }
  // Gives the names of the global variables that have no value.
  virtual Output default_ready_for_local_init_op() { return {}; }
  // Initialises tables and local variables, which belong to one session and no checkpoint.
  virtual Output default_local_init_op() { return {}; }

  // The graph as bytes, a TensorFlow MetaGraphDef or any format that the engine can read; savers
  // write it next to each checkpoint, as `<prefix>.meta`. Null, the default: there is nothing to
  // write.
  virtual std::shared_ptr<const std::string> meta_graph() const { return nullptr; }

  // The operation with this name. Throws: NotFoundError with the existing names, or the closest.
  Operation operation(std::string_view name) const;
  // The output "name:k", or the only output of "name". Throws: NotFoundError as above, and for an
  // invalid index; InvalidArgumentError for a name without an index unless the operation has
  // exactly one output.
  Output output(std::string_view name) const;
  // The one of variables() with this name. Throws: NotFoundError as above.
  Variable variable_named(std::string_view name) const;
  // What a request by this name runs: output(name), or an operation that has no outputs. An engine
  // may support more names. Throws: as output().
  virtual Output requested(std::string_view name) const;
  // The same request with names replaced by what requested() returns. Throws: as requested(), and
  // InvalidArgumentError for an output of another graph.
  Fetches resolve(const Fetches& fetches) const;

  // After finalize(), functions that extend the graph throw FailedPreconditionError.
  void finalize() { finalized_ = true; }
  void unfinalize() { finalized_ = false; }
  bool finalized() const { return finalized_; }

  // Outputs grouped under a name, in the order they were added.
  void add_to_collection(std::string_view collection, Output output);
  std::vector<Output> collection(std::string_view collection) const;
  std::vector<std::string> collection_names() const;  // Sorted.

  // Work to do in the background of every session over this graph.
  // Throws: InvalidArgumentError for null.
  void add_background_loop(std::shared_ptr<BackgroundLoop> loop);
  const std::vector<std::shared_ptr<BackgroundLoop>>& background_loops() const { return loops_; }

  // Objects of higher layers that belong to this graph, such as its Saver, by type and in the
  // order they were attached. Allowed after finalize().
  template <typename T>
  void attach(std::shared_ptr<T> object) {
    attachments_[&internal::type_key<T>].push_back(std::move(object));
  }
  template <typename T>
  std::vector<std::shared_ptr<T>> attached() const {
    std::vector<std::shared_ptr<T>> objects;
    if (const auto found = attachments_.find(&internal::type_key<T>); found != attachments_.end())
      for (const std::shared_ptr<void>& object : found->second)
        objects.push_back(std::static_pointer_cast<T>(object));
    return objects;
  }

  // Objects that belong in this graph's checkpoints. Allowed after finalize(): hooks
  // are added and removed with the sessions. Throws: AlreadyExistsError for a name in use.
  void add_saveable(RegisteredSaveable saveable);
  void remove_saveable(std::string_view name);
  const std::vector<RegisteredSaveable>& saveables() const { return saveables_; }

 protected:
  // Throws: FailedPreconditionError that names `addition`, after finalize().
  void check_not_finalized(std::string_view addition) const;

 private:
  bool finalized_ = false;
  std::map<std::string, std::vector<Output>, std::less<>> collections_;
  std::vector<std::shared_ptr<BackgroundLoop>> loops_;
  std::map<const void*, std::vector<std::shared_ptr<void>>> attachments_;
  std::vector<RegisteredSaveable> saveables_;
};

class Graph;

// The part of an array that one process has, where several processes (ranks) have it together.
struct Shard {
  Shape full_shape = {};             // Of all parts together.
  std::vector<int64_t> offset = {};  // Of this part's first element, by dimension.
};

// What a restore does with values that each rank has for itself, if the checkpoint is of another
// number of ranks.
enum class Regroup {
  kRefuse,  // An InvalidArgumentError.
  kFresh,   // They keep their initial values.
};

// Declares that a variable of this process is a part of a variable that all ranks have together. A
// checkpoint has it as one variable, under the same name. For variables of any engine, before the
// run; Loop programs track sharded(array, shard).
// Throws: InvalidArgumentError if the part reaches outside, or the variable's shape is not known.
CROCHET_EXPORT void shard_variable(Graph& graph, const Variable& variable, const Shard& shard);

// The step counter of a graph, for every engine. Hooks use Graph::global_step(), an output that
// reads the counter: fetched with a run that increments the step, it gives the value from
// before the increment. read_global_step() of session.h reads it in a run of its own.
//
//   get_or_create_global_step(graph);
//   const Operation train = increment_global_step(graph, 1, {apply_gradients});

// What Graph::global_step() is unless an engine overrides it: the one output in
// kGlobalStepCollection; if there is none, the first output of the operation "global_step". Unset
// if there is neither; unset, with an error in the log, if the collection has several.
// Throws: InvalidArgumentError if it is known to be neither int32 nor int64, or not a scalar.
CROCHET_EXPORT Output find_global_step(const Graph& graph);

// Adds the counter, "global_step": an int64 of value 0.
// Throws: AlreadyExistsError if the graph has one; FailedPreconditionError once it is
// finalized; InvalidArgumentError as find_global_step() does.
CROCHET_EXPORT Output create_global_step(Graph& graph);

// The existing counter of the graph, or a new one. Throws as above.
CROCHET_EXPORT Output get_or_create_global_step(Graph& graph);

// An operation that adds `increment` to the counter, after `control_inputs`.
// Throws: FailedPreconditionError if the graph has no counter, or is finalized.
CROCHET_EXPORT Operation increment_global_step(Graph& graph, int64_t increment = 1,
                                               std::vector<Output> control_inputs = {});

}  // namespace crochet::inline v0
