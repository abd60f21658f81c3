// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/engines/tensorflow/function.h"
#include "crochet/engines/tensorflow/meta_graph.h"
#include "crochet/io/file_system.h"
#include "crochet/session/graph.h"

struct TF_Graph;
struct TF_Operation;

namespace crochet::tensorflow {

namespace internal {
struct SaverEntry;
}

struct ImportOptions {
  // The operating system's if null. Not owned.
  FileSystem* files = nullptr;
  // In a cluster: the task that runs what is on its job, "/job:worker/task:1", whichever task the
  // graph was exported for. What names no job is put there, too, unless it is colocated with what
  // is elsewhere or works on a variable there; what is on other jobs, as variables on "/job:ps",
  // stays there. Empty: all stays.
  std::string task = {};
  // For a graph that does not say where its variables are: put them on this many tasks of the job
  // "ps", one after the other. Must be the same for all workers. Not without a task. 0: as all
  // else.
  int ps_tasks = 0;
};

// A graph that is run by TensorFlow: one that Python exported, or one that is built here (see
// graph_builder.h), or the first with additions.
//
//   auto graph = tensorflow::Graph::import_meta_graph("digits.meta");
//   train({.graph = graph, .checkpoint_dir = "runs/digits"}, [&](MonitoredSession& session) {
//     while (!session.should_stop()) session.run(graph.operation("train"), feeds);
//   });
//
// What belongs to the graph comes with it: its variables (`variables`, `global_step`), collections
// of operations and tensors ("train_op", "summaries", "init_op" and others), and queue runners.
// What the exporter's Scaffold would have made and did not, such as the operation that
// initialises all variables, is made here.
//
// A variable is resource or reference, each for itself. The parts of a partitioned one are one
// variable here, and in checkpoints: Python restores the parts from it.
//
// global_step() is "crochet/global_step:0", a read that comes before what adds to the step.
//
// Built by one thread; running sessions only read it. Must outlive its sessions.
class Graph final : public crochet::Graph {
 public:
  // Without operations.
  Graph();

  // Reads what tf.compat.v1.train.export_meta_graph wrote to `path`.
  // Throws: NotFoundError and others of the file system; DataLossError and InvalidArgumentError
  // with the place in the file (see parse_meta_graph); what TensorFlow says of the graph, such as
  // an operation that this build does not know; UnimplementedError for what cannot be
  // saved: variables of unknown rank, or of types without values; InvalidArgumentError for a task
  // that is none, or ps_tasks without one.
  static Graph import_meta_graph(const std::string& path, const ImportOptions& options = {});
  // The same of bytes; `name` is the one in messages.
  static Graph from_meta_graph(std::string bytes, const std::string& name,
                               const ImportOptions& options = {});
  // The same of a GraphDef alone, as tf.io.write_graph writes it, in binary form. It names no
  // variables: those that it has are other_state().
  static Graph import_graph_def(const std::string& path, const ImportOptions& options = {});
  static Graph from_graph_def(std::string bytes, const std::string& name,
                              const ImportOptions& options = {});

  ~Graph() override;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Adds an operation that runs these. It should happen before the first run: each
  // extension delays the next one.
  // Throws: FailedPreconditionError once the graph is finalized; InvalidArgumentError for a name
  // that TensorFlow does not run or that is taken, and for outputs of another graph.
  Operation group(std::string name, std::span<const Output> operations);

  // `target`: "", this process, or "grpc://<host>:<port>", a member of a cluster (server.h).
  // `config`: a serialized ConfigProto; in a cluster see cluster_config.h.
  // Throws: UnimplementedError for another target; InvalidArgumentError for another config;
  // DeadlineExceededError if members of the cluster did not answer.
  std::unique_ptr<Session> new_session(const std::string& target,
                                       const SessionConfig& config = {}) override;
  const OperationInfo* find_operation(std::string_view name) const override;
  std::vector<std::string> operation_names() const override;
  // Under the names that the graph's saver gives them in checkpoints, if it has one.
  std::vector<Variable> variables() const override;
  // Tables that grow, iterators, queues and others (see resource_types.h), and variables that are
  // in no collection; and what the graph's saver writes besides the values of variables().
  std::vector<OtherState> other_state() const override;
  // The name of a resource variable, whose only output is its handle, stands for its value; that of
  // the global step for global_step().
  Output requested(std::string_view name) const override;
  // Throws: InvalidArgumentError for outputs of other graphs.
  OutputInfo output_info(const Output& output) const override;
  // Throws: InvalidArgumentError if it is no scalar of type int32 or int64.
  Output global_step() const override;
  void add_global_step() override;
  // Throws besides: FailedPreconditionError if the graph has no global step.
  Operation add_global_step_increment(int64_t increment,
                                      std::vector<Output> control_inputs) override;
  // The variable's name.
  std::string global_step_name() const override;

  bool starts_initialized() const override { return variables_.empty(); }
  Output default_init_op() override;
  Output default_ready_op() override;
  Output default_ready_for_local_init_op() override;
  Output default_local_init_op() override;
  // A MetaGraphDef of the graph as it is now, which Python imports, too, and import_meta_graph().
  // Those are the bytes it was imported from, unless something was added besides operations of
  // crochet's own ("crochet/init"): then their graph and collections have that, too, and the rest
  // is theirs. Null if the graph is empty.
  std::shared_ptr<const std::string> meta_graph() const override;

  // What the file said, nothing of what was added.
  const MetaGraph& definition() const { return definition_; }

  // What sessions run.
  struct Node : OperationInfo {
    TF_Operation* operation = nullptr;
    std::vector<OutputInfo> outputs;
  };
  // One part of a partitioned variable, or the whole of another one.
  struct Part {
    const VariableDef* definition = nullptr;
    TF_Operation* handle = nullptr;  // The variable's own operation.
    Output initializer = {};
    // What is fetched for a snapshot: memory that will not change.
    Output value = {};
    std::vector<int64_t> offset = {};  // In the whole; empty if it is the whole.
    Shape shape = {};
  };
  struct VariableNode : VariableInfo {
    std::vector<Part> parts;
  };

  TF_Graph* tensorflow_graph() const { return graph_.get(); }
  // Throws: InvalidArgumentError unless it is an output, or an operation, of this graph.
  void check_has(const Output& output) const;
  // True if the memory of what is fetched may be a variable's, which changes.
  bool has_reference_variables() const { return has_reference_variables_; }
  // True if a run of these changes variables that are saved, as far as one can tell from outside;
  // in doubt it does.
  bool changes_variables(std::span<const Output> outputs) const;
  // True if a run of these writes a checkpoint, as a saver's operations do: it is to be of the
  // state between two steps.
  bool saves_state(std::span<const Output> outputs) const;

 private:
  friend class GraphBuilder;

  Graph(std::string bytes, const std::string& name, const ImportOptions& options);

  void import_nodes(const std::string& name, const ImportOptions& options);
  std::string place(const std::string& name, const ImportOptions& options) const;
  Node& add_node(TF_Operation* operation);
  // The operation of this name that gives what a reference variable has, in memory of its own.
  Output copy_of(TF_Operation* handle, const std::string& name);
  Part make_part(const VariableDef& definition, const std::string& file);
  void add_variables(const std::string& file);
  // Gives the variables the names that the graph's saver has for them, where it has one.
  void take_names_of_saver();
  void add_collections(const std::string& file);
  void add_queue_runners(const std::string& file);
  void check_global_step(const std::string& file) const;
  Output step_read() const;
  // A variable whose operations were added, for these collections.
  Variable add_variable(VariableDef definition, std::span<const std::string_view> collections);
  std::vector<const VariableDef*> definitions(std::string_view collection) const;
  // What operations may be given, by name. Throws: what TensorFlow says of them.
  std::map<std::string, Function, std::less<>>& functions();
  // What the graph's only saver writes; empty if there are several, or that cannot be known.
  std::vector<internal::SaverEntry> entries_of_saver() const;
  // Of all variables that are saved, or are a session's own.
  std::set<std::string> known_resources() const;
  // Of the queue and the accumulators of a SyncReplicasOptimizer.
  std::set<std::string> resources_of_sync_replicas() const;
  std::vector<OtherState> find_other_state() const;
  // The operation of the variable that counts the steps; null if there is none.
  TF_Operation* global_step_handle() const;
  // The name, or one that begins like it, of no operation.
  std::string free_name(const std::string& name) const;
  // What was added to collections: operations, tensors and variables.
  MetaGraph additions() const;
  // True if more was added than operations of crochet's own.
  bool is_extended(const MetaGraph& additions) const;
  Output group_of_initializers(const std::string& name, std::string_view collection);
  Output report_uninitialized(const std::string& wanted_name,
                              const std::vector<const VariableDef*>& definitions);
  // Throws: NotFoundError if the file names something that is not there.
  TF_Operation* operation_of_tensor(std::string_view tensor) const;

  const std::shared_ptr<const std::string> bytes_;
  const MetaGraph definition_;
  std::unique_ptr<TF_Graph, void (*)(TF_Graph*)> graph_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<std::string_view, const Node*> nodes_by_name_;
  std::vector<std::unique_ptr<VariableNode>> variables_;
  std::vector<std::unique_ptr<VariableNode>> local_variables_;  // That were added.
  // What the graph's saver writes that is not the value of a variable under its name.
  std::vector<std::string> other_entries_;
  mutable std::mutex other_state_mutex_;  // Guards what follows.
  mutable std::vector<OtherState> other_state_;
  mutable size_t num_nodes_searched_ = 0;
  bool has_reference_variables_ = false;
  std::optional<std::map<std::string, Function, std::less<>>> functions_;  // Once they were needed.
  bool is_function_body_ = false;  // What is added becomes a function.
  // Those of variables that were added, and the collections these are in.
  std::deque<VariableDef> added_definitions_;
  std::map<std::string, std::vector<const VariableDef*>, std::less<>> added_to_collections_;
  size_t num_imported_ = 0;            // Of nodes_.
  size_t num_imported_functions_ = 0;  // All there were.
  // What meta_graph() made of a graph of this size.
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

// The node behind a small value of such a graph.
inline const Graph::Node& node_of(const Output& output) {
  return static_cast<const Graph::Node&>(*output.operation());
}
inline const Graph::VariableNode& node_of(const Variable& variable) {
  return static_cast<const Graph::VariableNode&>(*variable.info());
}

}  // namespace crochet::tensorflow
