// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/engines/tensorflow/meta_graph.h"
#include "crochet/io/file_system.h"
#include "crochet/session/graph.h"
#include "crochet/tensor/dtype.h"
#include "crochet/tensor/shape.h"
#include "crochet/tensor/tensor.h"

struct TF_Graph;
struct TF_Operation;

namespace crochet::inline v0::tensorflow {

// An input of a function, with its name in the body, which begins with a letter.
struct FunctionInput {
  std::string name;
  DType dtype = DType::kInvalid;  // kResource: the handle of a variable.
  // The shape of all its values. Unset: unknown.
  std::optional<Shape> shape = {};
};

// The signature of a function.
struct FunctionInfo {
  std::string name;
  std::vector<DType> input_types;
  std::vector<DType> output_types;
};

// A named set of operations that an operation of a graph runs: a branch of If, the body of
// While. GraphBuilder::function() makes and finds functions. A small value; equal if it is the same
// function.
class CROCHET_EXPORT Function {
 public:
  // Unset; false in a condition.
  Function() = default;
  explicit Function(FunctionInfo info)
      : info_(std::make_shared<const FunctionInfo>(std::move(info))) {}

  explicit operator bool() const { return info_ != nullptr; }
  const std::string& name() const { return info_->name; }
  const std::vector<DType>& input_types() const { return info_->input_types; }
  const std::vector<DType>& output_types() const { return info_->output_types; }

  friend bool operator==(const Function&, const Function&) = default;

 private:
  std::shared_ptr<const FunctionInfo> info_;
};

// The C++ types of the elements of list attributes.
template <typename T>
concept AttributeElement =
    std::is_arithmetic_v<T> || std::same_as<T, DType> || std::same_as<T, Shape> ||
    std::same_as<T, Tensor> || std::same_as<T, Function> || std::is_convertible_v<T, std::string>;

// The value of an operation's attribute: a number, a string, a type, a shape, a tensor, a function,
// or a list of one of them.
//
//   {{"transpose_a", true}, {"T", DType::kFloat}, {"shape", Shape{-1, 64}}, {"strides", {1, 2}}}
//
// TensorFlow defines the attributes of an operation and their types: an int is not converted to
// a float.
class CROCHET_EXPORT Attribute {
 public:
  // Unset: a shape of unknown rank.
  using PartialShape = std::optional<Shape>;
  using Value = std::variant<int64_t, float, bool, std::string, DType, PartialShape, Tensor,
                             Function, std::vector<int64_t>, std::vector<float>, std::vector<bool>,
                             std::vector<std::string>, std::vector<DType>,
                             std::vector<PartialShape>, std::vector<Tensor>, std::vector<Function>>;

  // For numbers: integers become int, others float.
  template <typename T>
  requires(std::is_arithmetic_v<T>) Attribute(T value) : value_(static_cast<Stored<T>>(value)) {}
  Attribute(std::string value) : value_(std::move(value)) {}
  Attribute(const char* value) : value_(std::string(value)) {}
  Attribute(DType value) : value_(value) {}
  Attribute(Shape value) : value_(PartialShape(std::move(value))) {}
  Attribute(PartialShape value) : value_(std::move(value)) {}
  Attribute(Tensor value) : value_(std::move(value)) {}
  Attribute(Function value) : value_(std::move(value)) {}

  // For lists.
  template <AttributeElement T>
  Attribute(const std::vector<T>& values)
      : value_(std::vector<Stored<T>>(values.begin(), values.end())) {}
  Attribute(std::vector<PartialShape> values) : value_(std::move(values)) {}
  template <AttributeElement T>
  Attribute(std::initializer_list<T> values) : Attribute(std::vector<T>(values)) {}

  const Value& value() const { return value_; }

 private:
  template <typename T>
  using Stored = std::conditional_t<
      std::same_as<T, bool>, bool,
      std::conditional_t<
          std::is_integral_v<T>, int64_t,
          std::conditional_t<
              std::is_floating_point_v<T>, float,
              std::conditional_t<
                  std::same_as<T, Shape>, PartialShape,
                  std::conditional_t<std::is_convertible_v<T, std::string>, std::string, T>>>>>;

  Value value_;
};

using Attributes = std::map<std::string, Attribute>;

struct ImportOptions {
  // The operating system's if null. Not owned.
  FileSystem* files = nullptr;
  // In a cluster: the task that runs the operations placed on its job, "/job:worker/task:1",
  // whichever task the graph was exported for. Operations without a job are placed on it, too,
  // unless they are colocated with an operation on another job or use a variable there; operations
  // on other jobs, such as variables on "/job:ps", stay there. Empty: no placement is changed.
  std::string task = {};
  // For a graph whose variables have no job: places them on this many tasks of the job
  // "ps", in turn. Must be the same for all workers. Requires a task. 0: placed like all
  // other operations.
  int ps_tasks = 0;
};

// A graph that TensorFlow runs: exported by Python, or built here (see
// builder/graph_builder.h), or exported and then extended.
//
//   auto graph = tensorflow::Graph::import_meta_graph("digits.meta");
//   train({.graph = graph, .checkpoint_dir = "runs/digits"}, [&](MonitoredSession& session) {
//     while (!session.should_stop()) session.run(graph.operation("train"), feeds);
//   });
//
// An import includes the graph's variables (`variables`, `global_step`), collections
// of operations and tensors ("train_op", "summaries", "init_op" and others), and queue runners.
// Operations that the exporter's Scaffold would have added but did not, such as the one that
// initialises all variables, are added here.
//
// Each variable is either a resource or a reference. The parts of a partitioned one are one
// variable here, and in checkpoints: Python restores the parts from it.
//
// global_step() is "crochet/global_step:0", a read that precedes operations that add to the step.
//
// Built by one thread; running sessions only read it. Must outlive its sessions.
class CROCHET_EXPORT Graph final : public crochet::Graph {
 public:
  // An empty graph.
  Graph();

  // Imports the file that tf.compat.v1.train.export_meta_graph wrote to `path`.
  // Throws: NotFoundError and other errors of the file system; DataLossError and
  // InvalidArgumentError with the location in the file (see parse_meta_graph); TensorFlow's errors,
  // such as for an operation that this build does not know; UnimplementedError for variables that
  // cannot be saved, of unknown rank or of types without values; InvalidArgumentError for an
  // invalid task, or ps_tasks without one.
  static Graph import_meta_graph(const std::string& path, const ImportOptions& options = {});
  // The same for bytes; `name` is used in messages.
  static Graph from_meta_graph(std::string bytes, const std::string& name,
                               const ImportOptions& options = {});
  // The same for a bare GraphDef, as tf.io.write_graph writes it in binary form. It does not list
  // its variables: they are in other_state().
  static Graph import_graph_def(const std::string& path, const ImportOptions& options = {});
  static Graph from_graph_def(std::string bytes, const std::string& name,
                              const ImportOptions& options = {});

  ~Graph() override;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Adds an operation that runs these. Call it before the first run: each
  // extension delays the next run.
  // Throws: FailedPreconditionError once the graph is finalized; InvalidArgumentError for a name
  // that TensorFlow cannot run or that is taken, and for outputs of another graph.
  Operation group(std::string name, std::span<const Output> operations);

  // `target`: "" for this process, or "grpc://<host>:<port>" for a member of a cluster (server.h).
  // `config`: a serialized ConfigProto; for a cluster see cluster_spec.h.
  // Throws: UnimplementedError for any other target; InvalidArgumentError for an invalid config;
  // DeadlineExceededError if members of the cluster do not answer.
  std::unique_ptr<Session> new_session(const std::string& target = {},
                                       const SessionConfig& config = {}) override;
  const OperationInfo* find_operation(std::string_view name) const override;
  std::vector<std::string> operation_names() const override;
  // With the names that the graph's saver uses in checkpoints, if it has one.
  std::vector<Variable> variables() const override;
  // Mutable tables, iterators, queues and others (see resource_types.h), variables that are
  // in no collection, and entries of the graph's saver other than the values of variables().
  std::vector<OtherState> other_state() const override;
  // The name of a resource variable, whose only output is its handle, requests its value; that of
  // the global step requests global_step().
  Output requested(std::string_view name) const override;
  // Throws: InvalidArgumentError for outputs of other graphs.
  OutputInfo output_info(const Output& output) const override;
  // Throws: InvalidArgumentError if it is not a scalar of type int32 or int64.
  Output global_step() const override;
  void add_global_step() override;
  // Also throws FailedPreconditionError if the graph has no global step.
  Operation add_global_step_increment(int64_t increment,
                                      std::vector<Output> control_inputs) override;
  // The variable's name.
  std::string global_step_name() const override;

  bool starts_initialized() const override { return variables_.empty(); }
  Output default_init_op() override;
  Output default_ready_op() override;
  Output default_ready_for_local_init_op() override;
  Output default_local_init_op() override;
  // A MetaGraphDef of the current graph, which import_meta_graph() and Python can import.
  // These are the bytes it was imported from, unless operations other than crochet's own
  // ("crochet/init") were added: then its graph and collections include those, and the rest
  // is unchanged. Null if the graph is empty.
  std::shared_ptr<const std::string> meta_graph() const override;

  // The contents of the imported file, without additions.
  const MetaGraph& definition() const { return definition_; }

  // An operation of the graph.
  struct Node : OperationInfo {
    TF_Operation* operation = nullptr;
    std::vector<OutputInfo> outputs;
  };
  // One part of a partitioned variable, or the whole of any other.
  struct Slice {
    const VariableDef* definition = nullptr;
    TF_Operation* handle = nullptr;  // The variable's operation.
    Output initializer = {};
    // Fetched for a snapshot: its memory does not change later.
    Output value = {};
    std::vector<int64_t> offset = {};  // In the whole; empty if this is the whole.
    Shape shape = {};
  };
  struct VariableNode : VariableInfo {
    std::vector<Slice> parts;
  };

  TF_Graph* tensorflow_graph() const { return graph_.get(); }
  // Throws: InvalidArgumentError unless it is an output, or an operation, of this graph.
  void check_has(const Output& output) const;
  // Throws: AlreadyExistsError if a variable of another name has this one as its shared_name.
  void check_free_resource(const std::string& name) const;
  // True if a fetched tensor may share memory with a variable, which may change.
  bool has_reference_variables() const { return has_reference_variables_; }
  // True if a run of these changes saved variables, or if that cannot be ruled
  // out.
  bool changes_variables(std::span<const Output> outputs) const;
  // True if a run of these writes a checkpoint, as a saver's operations do: it must run between
  // two steps.
  bool saves_state(std::span<const Output> outputs) const;

 private:
  friend class GraphBuilder;

  Graph(std::string bytes, const std::string& name, const ImportOptions& options);

  void import_nodes(const std::string& name, const ImportOptions& options);
  std::string place(const std::string& name, const ImportOptions& options) const;
  Node& add_node(TF_Operation* operation);
  // Throws: FailedPreconditionError once the graph is finalized; InvalidArgumentError for a name
  // that is illegal or begins with "crochet/"; AlreadyExistsError for one that is taken.
  void check_can_add(const std::string& name) const;
  // Also for the names of its other operations and its entry in checkpoints.
  void check_can_add_variable(const std::string& name) const;
  // The operation of this name that copies the value of a reference variable.
  Output copy_of(TF_Operation* handle, const std::string& name);
  Slice make_part(const VariableDef& definition, const std::string& file);
  void add_variables(const std::string& file);
  // Gives the variables the names that the graph's saver uses for them, if it has one.
  void take_names_of_saver();
  void add_collections(const std::string& file);
  void add_queue_runners(const std::string& file);
  void check_global_step(const std::string& file) const;
  Output step_read() const;
  // Registers a variable whose operations were added, in these collections.
  Variable add_variable(VariableDef definition, std::span<const std::string_view> collections);
  std::vector<const VariableDef*> definitions(std::string_view collection) const;
  // The resources of all variables that are saved or local.
  std::set<std::string> known_resources() const;
  std::vector<OtherState> find_other_state() const;
  // The operation of the variable that counts the steps; null if there is none.
  TF_Operation* global_step_handle() const;
  // The operations, tensors and variables that were added to collections.
  MetaGraph additions() const;
  // True if operations other than crochet's own were added.
  bool is_extended(const MetaGraph& additions) const;
  Output group_of_initializers(const std::string& name, std::string_view collection);
  Output report_uninitialized(const std::string& wanted_name,
                              const std::vector<const VariableDef*>& definitions);

  const std::shared_ptr<const std::string> bytes_;
  const MetaGraph definition_;
  std::unique_ptr<TF_Graph, void (*)(TF_Graph*)> graph_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<std::string_view, const Node*> nodes_by_name_;
  std::vector<std::unique_ptr<VariableNode>> variables_;
  std::vector<std::unique_ptr<VariableNode>> local_variables_;  // Only added ones.
  // Entries of the graph's saver that are not the value of a variable under its name.
  std::vector<std::string> other_entries_;
  mutable std::mutex other_state_mutex_;  // Guards what follows.
  mutable std::vector<OtherState> other_state_;
  mutable size_t num_nodes_searched_ = 0;
  bool has_reference_variables_ = false;
  std::optional<std::map<std::string, Function, std::less<>>> functions_;  // By GraphBuilder.
  bool is_function_body_ = false;  // The operations are the body of a function.
  // The definitions of added variables, and their collections.
  std::deque<VariableDef> added_definitions_;
  std::map<std::string, std::vector<const VariableDef*>, std::less<>> added_to_collections_;
  size_t num_imported_ = 0;  // Of nodes_.
  size_t num_imported_functions_ = 0;
  // The result of meta_graph() for a graph of this size.
  struct Size {
    size_t num_nodes = 0;
    size_t num_functions = 0;
    size_t num_collected = 0;
    bool operator==(const Size&) const = default;
  };
  Size size_with(const MetaGraph& additions) const;
  mutable std::shared_ptr<const std::string> built_bytes_;
  mutable Size built_size_;
};

// The node of an operation, output or variable of a tensorflow::Graph.
inline const Graph::Node& node_of(const OperationInfo& operation) {
  return static_cast<const Graph::Node&>(operation);
}
inline const Graph::Node& node_of(const Output& output) { return node_of(*output.operation()); }
inline const Graph::VariableNode& node_of(const Variable& variable) {
  return static_cast<const Graph::VariableNode&>(*variable.info());
}

// Loads a library of custom operations, as Python's tf.load_op_library does: graphs
// that have them can be imported, built and run from then on, until the process ends. A second call
// for the same library does nothing.
//
// The library must have been built for the TensorFlow that this process runs.
//
// Thread-safe. Throws: NotFoundError for a path without a file; TensorFlow's error for a file that
// is not such a library, or whose operations have names that are taken.
CROCHET_EXPORT void load_op_library(const std::string& path);

}  // namespace crochet::inline v0::tensorflow
