// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/session/session.h"

namespace crochet::inline v0 {

struct ScriptedGraphOptions {
  // The step at which every session starts.
  int64_t global_step = 0;
  // The number that a run of "train" adds to it.
  int64_t steps_per_run = 1;
  // False: there is no global step, and "train" does nothing.
  bool counts_steps = true;
  std::string global_step_name = "global_step";
  // False: variables have no value until an initializer runs or they are assigned; reading
  // them before that, in a run or a snapshot, throws FailedPreconditionError.
  bool starts_initialized = true;
};

// One run of a session, as requested.
struct ScriptedRun {
  int64_t session = 0;  // 0 is the first session created.
  std::vector<std::string> fetches = {};
  std::vector<std::string> feeds = {};
  RunOptions options = {};

  friend bool operator==(const ScriptedRun&, const ScriptedRun&) = default;
};

// A graph that follows a script instead of computing: for tests of hooks and
// wrappers. It has an operation "train", the step counter "global_step", and
// anything added by the test:
//
//   ScriptedGraph graph({.global_step = 5});
//   graph.value("loss", {Tensor::scalar(0.5f), Tensor::scalar(NAN)});
//   graph.fail_run(3, AbortedError("the worker is gone"));
//   const auto session = graph.new_session("");
//   session->run({graph.train(), graph.output("loss")});
//
// In a run "train" comes first and values after it, as in a Loop; a fetched "global_step" is
// the value from before the run. Runs and sessions are counted from 0. With a trace, a run reports
// that it began at 1000 s and that each fetched operation took 1 ms, one after another.
//
// Must outlive its sessions. Built by one thread; sessions are thread-safe.
class CROCHET_EXPORT ScriptedGraph final : public Graph {
 public:
  using Thrower = std::function<void()>;

  explicit ScriptedGraph(const ScriptedGraphOptions& options = {});
  ~ScriptedGraph() override;
  ScriptedGraph(const ScriptedGraph&) = delete;
  ScriptedGraph& operator=(const ScriptedGraph&) = delete;

  Operation train() const { return operation("train"); }

  // An output "<name>:0", computed once in each run that fetches it.
  Output value(const std::string& name, std::function<Tensor()> compute);
  // The same from a list, one for each run that fetches it; the last one is repeated.
  Output value(const std::string& name, std::vector<Tensor> values);
  // A value that must be fed.
  Output placeholder(const std::string& name);
  // A variable with the value `initial` in every new session.
  Variable variable(const std::string& name, Tensor initial);
  // The same, but not among variables(), hence not saved.
  Variable local_variable(const std::string& name, Tensor initial);
  // A local variable that is initialised with the value of `source`, or with its initial value.
  Variable local_variable(const std::string& name, const Variable& source);

  // An operation that gives variables their initial values.
  Operation initializer(const std::string& name, std::vector<Variable> variables);
  // An operation that gives `variable` the value that `from` has in the run.
  Operation initializer(const std::string& name, const Variable& variable, Output from);
  // An output: the names of those of `variables` that have no value.
  Output uninitialized(const std::string& name, std::vector<Variable> variables);

  // Sets the result of other_state(), initially empty.
  void set_other_state(std::vector<OtherState> states) { other_state_ = std::move(states); }
  // Sets the result of meta_graph(), initially null.
  void set_meta_graph(std::string bytes) {
    meta_graph_ = std::make_shared<const std::string>(std::move(bytes));
  }

  // Throws `error` in the n-th run of all sessions together, before anything changes.
  template <typename Error>
  void fail_run(int64_t n, Error error) {
    run_failures_[n] = [error] { throw error; };
  }
  // Throws `error` instead of creating the n-th session.
  template <typename Error>
  void fail_session(int64_t n, Error error) {
    session_failures_[n] = [error] { throw error; };
  }

  // Every run so far, including those that failed.
  std::vector<ScriptedRun> runs() const;
  int64_t num_runs() const { return static_cast<int64_t>(runs().size()); }
  // The number of sessions requested, and of those not closed.
  int64_t num_sessions() const;
  int64_t num_open_sessions() const;

  // The settings of the last session requested.
  SessionConfig last_config() const;

  std::unique_ptr<Session> new_session(const std::string& target = {},
                                       const SessionConfig& config = {}) override;
  const OperationInfo* find_operation(std::string_view name) const override;
  std::vector<std::string> operation_names() const override;
  std::vector<Variable> variables() const override;
  std::vector<OtherState> other_state() const override { return other_state_; }
  // Known for values from a list, and for the step.
  OutputInfo output_info(const Output& output) const override;
  void add_global_step() override;
  Operation add_global_step_increment(int64_t increment,
                                      std::vector<Output> control_inputs) override;
  bool starts_initialized() const override { return options_.starts_initialized; }
  Output default_init_op() override;
  Output default_ready_op() override;
  Output default_ready_for_local_init_op() override;
  Output default_local_init_op() override;
  std::shared_ptr<const std::string> meta_graph() const override { return meta_graph_; }

 private:
  friend class ScriptedSession;

  using Values = std::unordered_map<Output, Tensor>;

  struct Node : OperationInfo {
    // Computes the value of an output.
    std::function<Tensor(class ScriptedSession&)> compute;
    // The effect of an operation; a run's operations come before its values.
    std::function<void(ScriptedSession&, Values& known)> effect;
    OutputInfo info;
  };
  struct VariableNode : VariableInfo {
    Tensor initial;
    const VariableNode* source = nullptr;  // Initialised with its value, if set.
    bool is_local = false;
  };

  Node& add_node(const std::string& name, int num_outputs);
  VariableNode& add_variable(const std::string& name, Tensor initial);
  std::vector<Variable> all_variables() const;
  std::vector<Variable> local_variables() const;
  // Records a run, and throws if it must fail.
  void begin_run(ScriptedRun run);

  const ScriptedGraphOptions options_;
  std::map<std::string, std::unique_ptr<Node>, std::less<>> nodes_;
  std::vector<std::unique_ptr<VariableNode>> variables_;
  Output step_;
  const VariableNode* step_variable_ = nullptr;
  std::shared_ptr<const std::string> meta_graph_;
  std::vector<OtherState> other_state_;
  std::map<int64_t, Thrower> run_failures_;
  std::map<int64_t, Thrower> session_failures_;

  mutable std::mutex mutex_;  // Guards what follows.
  std::vector<ScriptedRun> runs_;
  SessionConfig last_config_;
  int64_t num_sessions_ = 0;
  int64_t num_open_sessions_ = 0;
};

}  // namespace crochet::inline v0
