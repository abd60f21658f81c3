// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/scripted_session.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <unordered_map>

#include "crochet/base/error.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0 {
namespace {

constexpr const char* kTrain = "train";
constexpr double kTraceStartTime = 1000;
constexpr std::chrono::milliseconds kTracedDuration(1);

}  // namespace

// The n-th session of a ScriptedGraph.
class ScriptedSession final : public Session {
 public:
  ScriptedSession(ScriptedGraph& graph, int64_t number, std::string target)
      : graph_(graph), number_(number), target_(std::move(target)) {}

  ~ScriptedSession() override { close(); }

  Graph& graph() const override { return graph_; }
  const std::string& target() const override { return target_; }

  void run_into(std::span<const Output> fetches, const Feeds& feeds, std::span<Tensor> results,
                const RunOptions& options, RunMetadata* metadata) override {
    const Turn turn(*this, "run");
    check(fetches, feeds);
    graph_.begin_run(describe_run(fetches, feeds, options));
    if (metadata != nullptr) *metadata = script_metadata(fetches, options);
    ScriptedGraph::Values known(feeds.begin(), feeds.end());
    if (std::ranges::find(fetches, graph_.step_) != fetches.end())
      known.try_emplace(graph_.step_, initialized_value(*graph_.step_variable_));
    for (const Output& output : fetches)
      if (!output.has_value()) run_operation(output, known);
    for (const Output& output : fetches)
      if (output.has_value()) value_in_run(output, known);
    for (size_t i = 0; i < fetches.size(); ++i)
      results[i] = fetches[i].has_value() ? known.at(fetches[i]) : Tensor();
  }

  Snapshot snapshot(std::span<const Variable> variables) override {
    const Turn turn(*this, "snapshot");
    std::vector<NamedTensor> tensors;
    for (const Variable& variable : variables)
      tensors.push_back({variable.name(), initialized_value(node_of(variable))});
    return Snapshot(std::move(tensors));
  }

  void assign(std::span<const Assignment> assignments) override {
    const Turn turn(*this, "assign");
    for (const auto& [variable, shape, fill, strings] : assignments)
      if (!shape.is_compatible_with(variable.shape()))
        throw InvalidArgumentError(fmt::format("variable \"{}\": found shape {}, expected {}",
                                               variable.name(), shape, variable.shape()));
    for (const auto& [variable, shape, fill, strings] : assignments) {
      if (variable.dtype() == DType::kString) {
        value_of(node_of(variable)) = strings();
        continue;
      }
      Tensor value(variable.dtype(), shape);
      fill(value.writable_bytes());
      value_of(node_of(variable)) = std::move(value);
    }
  }

  void close() override {
    if (closed_.exchange(true)) return;
    const std::lock_guard lock(graph_.mutex_);
    --graph_.num_open_sessions_;
  }

  // For operations of the graph; called in a run.

  bool is_initialized(const Variable& variable) { return value_of(node_of(variable)).is_set(); }
  void initialize(const Variable& variable) {
    const VariableNode& node = node_of(variable);
    value_of(node) = node.source == nullptr ? node.initial : value_or_initial(*node.source);
  }
  void advance(int64_t increment) {
    const Tensor old = initialized_value(*graph_.step_variable_);
    value_of(*graph_.step_variable_) = Tensor::scalar(old.scalar<int64_t>() + increment);
  }
  void set(const Variable& variable, Tensor value) {
    value_of(node_of(variable)) = std::move(value);
  }
  // Runs an operation once per run: `known` has those already run.
  void run_operation(const Output& output, ScriptedGraph::Values& known) {
    if (known.try_emplace(output).second && node_of(output).effect)
      node_of(output).effect(*this, known);
  }
  const Tensor& value_in_run(const Output& output, ScriptedGraph::Values& known) {
    if (const auto found = known.find(output); found != known.end()) return found->second;
    return known[output] = node_of(output).compute(*this);
  }

 private:
  using VariableNode = ScriptedGraph::VariableNode;

  // Serialises calls, and rejects calls from within another.
  class Turn {
   public:
    Turn(ScriptedSession& session, const char* call) : session_(session) {
      if (session_.owner_ == std::this_thread::get_id())
        throw FailedPreconditionError(
            fmt::format("{} was called from within a value of the same session", call));
      session_.mutex_.lock();
      session_.owner_ = std::this_thread::get_id();
      if (!session_.closed_) return;
      end();
      throw FailedPreconditionError(fmt::format("{} on a closed session", call));
    }
    ~Turn() { end(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    void end() {
      session_.owner_ = std::thread::id();
      session_.mutex_.unlock();
    }

    ScriptedSession& session_;
  };

  void check(std::span<const Output> fetches, const Feeds& feeds) const {
    for (const Output& output : fetches)
      if (output.graph() != &graph_)
        throw InvalidArgumentError(
            fmt::format("{} is not an output of this graph", to_string(output)));
    for (auto feed = feeds.begin(); feed != feeds.end(); ++feed)
      for (auto other = feeds.begin(); other != feed; ++other)
        if (feed->first == other->first)
          throw InvalidArgumentError(fmt::format("{} is fed twice", to_string(feed->first)));
  }

  // Each operation takes 1 ms, one after another.
  static RunMetadata script_metadata(std::span<const Output> fetches, const RunOptions& options) {
    RunMetadata metadata;
    if (options.output_partition_graphs) metadata.partition_graphs = {"scripted"};
    if (options.trace_level == TraceLevel::kNone) return metadata;
    metadata.start_time = kTraceStartTime;
    for (const Output& output : fetches)
      metadata.operations.push_back({.name = output.operation()->name,
                                     .device = "/scripted",
                                     .start = kTracedDuration * metadata.operations.size(),
                                     .duration = kTracedDuration});
    return metadata;
  }

  ScriptedRun describe_run(std::span<const Output> fetches, const Feeds& feeds,
                           const RunOptions& options) const {
    ScriptedRun run{.session = number_, .options = options};
    for (const Output& output : fetches) run.fetches.push_back(to_string(output));
    for (const auto& [output, value] : feeds) run.feeds.push_back(to_string(output));
    return run;
  }

  static const ScriptedGraph::Node& node_of(const Output& output) {
    return static_cast<const ScriptedGraph::Node&>(*output.operation());
  }
  static const VariableNode& node_of(const Variable& variable) {
    return static_cast<const VariableNode&>(*variable.info());
  }

  // Unset without a value.
  Tensor& value_of(const VariableNode& node) {
    const bool has_value = graph_.starts_initialized() && !node.is_local;
    return values_.try_emplace(&node, has_value ? node.initial : Tensor()).first->second;
  }
  const Tensor& initialized_value(const VariableNode& node) {
    if (!value_of(node).is_set())
      throw FailedPreconditionError(
          fmt::format("Attempting to use uninitialized value {}", node.name));
    return value_of(node);
  }
  const Tensor& value_or_initial(const VariableNode& node) {
    return value_of(node).is_set() ? value_of(node) : node.initial;
  }

  ScriptedGraph& graph_;
  const int64_t number_;
  const std::string target_;
  std::atomic<bool> closed_ = false;
  std::atomic<std::thread::id> owner_;  // Of mutex_.
  std::mutex mutex_;                    // Guards what follows; held while values are computed.
  std::unordered_map<const VariableInfo*, Tensor> values_;  // Of those used so far.
};

ScriptedGraph::ScriptedGraph(const ScriptedGraphOptions& options) : options_(options) {
  Node& train = add_node(kTrain, 0);
  if (!options_.counts_steps) return;
  add_global_step();
  train.effect = [this](ScriptedSession& session, Values&) {
    session.advance(options_.steps_per_run);
  };
}

ScriptedGraph::~ScriptedGraph() = default;

ScriptedGraph::Node& ScriptedGraph::add_node(const std::string& name, int num_outputs) {
  check_not_finalized(name);
  if (nodes_.contains(name))
    throw AlreadyExistsError(fmt::format("the graph already has an operation \"{}\"", name));
  auto node = std::make_unique<Node>();
  node->graph = this;
  node->name = name;
  node->num_outputs = num_outputs;
  return *(nodes_[name] = std::move(node));
}

Output ScriptedGraph::value(const std::string& name, std::function<Tensor()> compute) {
  Node& node = add_node(name, 1);
  node.compute = [compute = std::move(compute)](ScriptedSession&) { return compute(); };
  return Output(&node, 0);
}

Output ScriptedGraph::value(const std::string& name, std::vector<Tensor> values) {
  const OutputInfo info{values.at(0).dtype(), values[0].shape()};
  const Output output = value(name, [values = std::move(values), next = size_t{0}]() mutable {
    const size_t i = std::min(next++, values.size() - 1);
    return values.at(i);
  });
  nodes_.at(name)->info = info;
  return output;
}

Output ScriptedGraph::placeholder(const std::string& name) {
  return value(name, [name]() -> Tensor {
    throw InvalidArgumentError(fmt::format("{} was not fed", name));
  });
}

ScriptedGraph::VariableNode& ScriptedGraph::add_variable(const std::string& name, Tensor initial) {
  check_not_finalized(name);
  auto node = std::make_unique<VariableNode>();
  node->graph = this;
  node->name = name;
  node->dtype = initial.dtype();
  node->shape = initial.shape();
  node->initial = std::move(initial);
  variables_.push_back(std::move(node));
  return *variables_.back();
}

Variable ScriptedGraph::variable(const std::string& name, Tensor initial) {
  return Variable(&add_variable(name, std::move(initial)));
}

Variable ScriptedGraph::local_variable(const std::string& name, Tensor initial) {
  VariableNode& node = add_variable(name, std::move(initial));
  node.is_local = true;
  return Variable(&node);
}

Variable ScriptedGraph::local_variable(const std::string& name, const Variable& source) {
  const auto* const source_node = static_cast<const VariableNode*>(source.info());
  VariableNode& node = add_variable(name, source_node->initial);
  node.is_local = true;
  node.source = source_node;
  return Variable(&node);
}

Operation ScriptedGraph::initializer(const std::string& name, std::vector<Variable> variables) {
  Node& node = add_node(name, 0);
  node.effect = [variables = std::move(variables)](ScriptedSession& session, Values&) {
    for (const Variable& variable : variables) session.initialize(variable);
  };
  return Operation(&node);
}

Operation ScriptedGraph::initializer(const std::string& name, const Variable& variable,
                                     Output from) {
  Node& node = add_node(name, 0);
  node.effect = [variable, from](ScriptedSession& session, Values& known) {
    session.set(variable, session.value_in_run(from, known));
  };
  return Operation(&node);
}

Output ScriptedGraph::uninitialized(const std::string& name, std::vector<Variable> variables) {
  Node& node = add_node(name, 1);
  node.compute = [variables = std::move(variables)](ScriptedSession& session) {
    std::vector<std::string> names;
    for (const Variable& variable : variables)
      if (!session.is_initialized(variable)) names.push_back(variable.name());
    return Tensor::from(std::move(names));
  };
  return Output(&node, 0);
}

void ScriptedGraph::add_global_step() {
  const Variable step = variable(options_.global_step_name, Tensor::scalar(options_.global_step));
  step_variable_ = static_cast<const VariableNode*>(step.info());
  Node& node = add_node(options_.global_step_name, 1);
  node.info = {DType::kInt64, Shape{}};
  step_ = Output(&node, 0);
  add_to_collection(kGlobalStepCollection, step_);
}

Operation ScriptedGraph::add_global_step_increment(int64_t increment,
                                                   std::vector<Output> control_inputs) {
  Node& node = add_node(fmt::format("increment_global_step_by_{}", increment), 0);
  node.effect = [increment, control_inputs = std::move(control_inputs)](ScriptedSession& session,
                                                                        Values& known) {
    for (const Output& input : control_inputs) {
      if (input.has_value())
        session.value_in_run(input, known);
      else
        session.run_operation(input, known);
    }
    session.advance(increment);
  };
  return Operation(&node);
}

Output ScriptedGraph::default_init_op() {
  return starts_initialized() ? Output() : initializer("init", variables());
}

Output ScriptedGraph::default_ready_op() {
  if (starts_initialized() && local_variables().empty()) return {};
  return uninitialized("report_uninitialized", all_variables());
}

Output ScriptedGraph::default_ready_for_local_init_op() {
  if (local_variables().empty()) return {};
  return uninitialized("report_uninitialized_global", variables());
}

Output ScriptedGraph::default_local_init_op() {
  return local_variables().empty() ? Output() : initializer("local_init", local_variables());
}

void ScriptedGraph::begin_run(ScriptedRun run) {
  int64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = static_cast<int64_t>(runs_.size());
    runs_.push_back(std::move(run));
  }
  if (const auto failure = run_failures_.find(number); failure != run_failures_.end())
    failure->second();
}

std::vector<ScriptedRun> ScriptedGraph::runs() const {
  const std::lock_guard lock(mutex_);
  return runs_;
}

SessionConfig ScriptedGraph::last_config() const {
  const std::lock_guard lock(mutex_);
  return last_config_;
}

int64_t ScriptedGraph::num_sessions() const {
  const std::lock_guard lock(mutex_);
  return num_sessions_;
}

int64_t ScriptedGraph::num_open_sessions() const {
  const std::lock_guard lock(mutex_);
  return num_open_sessions_;
}

std::unique_ptr<Session> ScriptedGraph::new_session(const std::string& target,
                                                    const SessionConfig& config) {
  int64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = num_sessions_++;
    last_config_ = config;
  }
  if (const auto failure = session_failures_.find(number); failure != session_failures_.end())
    failure->second();
  auto session = std::make_unique<ScriptedSession>(*this, number, target);
  const std::lock_guard lock(mutex_);
  ++num_open_sessions_;
  return session;
}

const OperationInfo* ScriptedGraph::find_operation(std::string_view name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : found->second.get();
}

std::vector<std::string> ScriptedGraph::operation_names() const {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_) names.push_back(name);
  return names;
}

std::vector<Variable> ScriptedGraph::variables() const {
  std::vector<Variable> variables;
  for (const auto& node : variables_)
    if (!node->is_local) variables.emplace_back(node.get());
  return variables;
}

std::vector<Variable> ScriptedGraph::local_variables() const {
  std::vector<Variable> variables;
  for (const auto& node : variables_)
    if (node->is_local) variables.emplace_back(node.get());
  return variables;
}

std::vector<Variable> ScriptedGraph::all_variables() const {
  std::vector<Variable> variables;
  for (const auto& node : variables_) variables.emplace_back(node.get());
  return variables;
}

OutputInfo ScriptedGraph::output_info(const Output& output) const {
  return static_cast<const Node*>(output.operation())->info;
}

}  // namespace crochet::inline v0
