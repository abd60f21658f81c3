// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <string>
#include <vector>

#include "crochet/engines/local/background_copier.h"
#include "crochet/engines/local/graph.h"
#include "crochet/engines/local/plan.h"
#include "crochet/engines/local/run_token.h"
#include "crochet/session/session.h"

namespace crochet::local {

// Runs a local::Graph on the calling thread. Runs of several threads, snapshots
// and assignments come one after another.
class Session final : public crochet::Session {
 public:
  explicit Session(Graph& graph);
  ~Session() override;

  crochet::Graph& graph() const override { return graph_; }
  const std::string& target() const override { return target_; }
  void run_into(std::span<const Output> fetches, const Feeds& feeds, std::span<Tensor> results,
                const RunOptions& options, RunMetadata* metadata) override;
  // Throws FailedPreconditionError after an operation that changes borrowed arrays, or
  // an assign(), failed, until the next assign(): half a step is never saved.
  Snapshot snapshot(std::span<const Variable> variables) override;
  void assign(std::span<const Assignment> assignments) override;
  void close() override;

 private:
  class Frame;

  const Plan& plan_for(std::span<const Output> fetches, std::span<const Output> fed);
  void check_open(const char* what) const;
  // Makes room for what the graph got since the last call.
  void follow_graph();
  bool is_fed(const Output& output) const;
  void execute(const Graph::Node& node);
  void assign_owned(const Graph::VariableNode& node, const Assignment& assignment);
  void assign_borrowed(const Graph::VariableNode& node, const Assignment& assignment);

  Graph& graph_;  // Not owned; outlives this.
  const std::string target_;

  RunToken token_;                           // Guards what follows, but for closed_.
  std::vector<Tensor> owned_;                // By the variable's index; unset if borrowed.
  std::vector<std::vector<Tensor>> values_;  // Of the current run, by the node's index.
  std::deque<Plan> plans_;
  std::vector<Output> fed_;
  std::string half_done_;  // What failed while it changed variables; "" if nothing did.
  std::atomic<bool> closed_ = false;

  BackgroundCopier copier_;  // Last: ends before what it reads is gone.
};

}  // namespace crochet::local
