// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/scripted_session.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <unordered_map>

#include "crochet/base/error.h"

namespace crochet {
namespace {

constexpr const char* kTrain = "train";
constexpr double kTraceStartTime = 1000;
constexpr std::chrono::milliseconds kTracedDuration(1);

}  // namespace

// The one session of a ScriptedGraph that was made as its n-th.
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
    std::unordered_map<Output, Tensor> known(feeds.begin(), feeds.end());
    if (const Output step = graph_.global_step()) {
      known.try_emplace(step, step_value());
      if (std::ranges::find(fetches, Output(graph_.train())) != fetches.end()) advance();
    }
    for (const Output& output : fetches)
      if (output.has_value() && !known.contains(output)) known[output] = compute(output);
    for (size_t i = 0; i < fetches.size(); ++i)
      results[i] = fetches[i].has_value() ? known.at(fetches[i]) : Tensor();
  }

  Snapshot snapshot(std::span<const Variable> variables) override {
    const Turn turn(*this, "snapshot");
    std::vector<NamedTensor> tensors;
    for (const Variable& variable : variables)
      tensors.push_back({variable.name(), value_of(variable)});
    return Snapshot(std::move(tensors));
  }

  void assign(std::span<const Assignment> assignments) override {
    const Turn turn(*this, "assign");
    for (const auto& [variable, shape, fill] : assignments)
      if (!shape.is_compatible_with(variable.shape()))
        throw InvalidArgumentError("variable \"{}\" has the shape {}, it was given {}",
                                   variable.name(), variable.shape(), shape);
    for (const auto& [variable, shape, fill] : assignments) {
      Tensor value(variable.dtype(), shape);
      fill(value.mutable_bytes());
      value_of(variable) = std::move(value);
    }
  }

  void close() override {
    if (closed_.exchange(true)) return;
    const std::lock_guard lock(graph_.mutex_);
    --graph_.num_open_sessions_;
  }

 private:
  // Calls come one after another, and none from within another.
  class Turn {
   public:
    Turn(ScriptedSession& session, const char* call) : session_(session) {
      if (session_.owner_ == std::this_thread::get_id())
        throw FailedPreconditionError("{} was called from within a value of the same session",
                                      call);
      session_.mutex_.lock();
      session_.owner_ = std::this_thread::get_id();
      if (!session_.closed_) return;
      end();
      throw FailedPreconditionError("{} on a closed session", call);
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
        throw InvalidArgumentError("{} is not an output of this graph", to_string(output));
    for (auto feed = feeds.begin(); feed != feeds.end(); ++feed)
      for (auto other = feeds.begin(); other != feed; ++other)
        if (feed->first == other->first)
          throw InvalidArgumentError("{} is fed twice", to_string(feed->first));
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

  Tensor compute(const Output& output) const {
    const auto& node = static_cast<const ScriptedGraph::Node&>(*output.operation());
    return node.compute ? node.compute() : Tensor();
  }

  Tensor& value_of(const Variable& variable) {
    const auto& node = static_cast<const ScriptedGraph::VariableNode&>(*variable.info());
    return values_.try_emplace(&node, node.initial).first->second;
  }
  Tensor& step_value() { return value_of(Variable(graph_.variables_.front().get())); }
  void advance() { step_value().mutable_flat<int64_t>()[0] += graph_.options_.steps_per_run; }

  ScriptedGraph& graph_;
  const int64_t number_;
  const std::string target_;
  std::atomic<bool> closed_ = false;
  std::atomic<std::thread::id> owner_;  // Of mutex_.
  std::mutex mutex_;                    // Guards what follows; held while values are computed.
  std::unordered_map<const VariableInfo*, Tensor> values_;  // Of those used so far.
};

ScriptedGraph::ScriptedGraph(const ScriptedGraphOptions& options) : options_(options) {
  add_node(kTrain, 0);
  if (!options_.counts_steps) return;
  variable(options_.global_step_name, Tensor::scalar(options_.global_step));
  add_node(options_.global_step_name, 1);
}

ScriptedGraph::~ScriptedGraph() = default;

ScriptedGraph::Node& ScriptedGraph::add_node(const std::string& name, int num_outputs) {
  check_not_finalized(name);
  if (nodes_.contains(name))
    throw AlreadyExistsError("the graph has an operation \"{}\" already", name);
  auto node = std::make_unique<Node>();
  node->graph = this;
  node->name = name;
  node->num_outputs = num_outputs;
  return *(nodes_[name] = std::move(node));
}

Output ScriptedGraph::value(const std::string& name, std::function<Tensor()> compute) {
  Node& node = add_node(name, 1);
  node.compute = std::move(compute);
  return Output(&node, 0);
}

Output ScriptedGraph::value(const std::string& name, std::vector<Tensor> values) {
  return value(name, [values = std::move(values), next = size_t{0}]() mutable {
    const size_t i = std::min(next++, values.size() - 1);
    return values.at(i);
  });
}

Variable ScriptedGraph::variable(const std::string& name, Tensor initial) {
  check_not_finalized(name);
  auto node = std::make_unique<VariableNode>();
  node->graph = this;
  node->name = name;
  node->dtype = initial.dtype();
  node->shape = initial.shape();
  node->initial = std::move(initial);
  variables_.push_back(std::move(node));
  return Variable(variables_.back().get());
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

int64_t ScriptedGraph::num_sessions() const {
  const std::lock_guard lock(mutex_);
  return num_sessions_;
}

int64_t ScriptedGraph::num_open_sessions() const {
  const std::lock_guard lock(mutex_);
  return num_open_sessions_;
}

std::unique_ptr<Session> ScriptedGraph::new_session(const std::string& target) {
  int64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = num_sessions_++;
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
  for (const auto& node : variables_) variables.emplace_back(node.get());
  return variables;
}

Output ScriptedGraph::global_step() const {
  return options_.counts_steps ? output(options_.global_step_name) : Output();
}

}  // namespace crochet
