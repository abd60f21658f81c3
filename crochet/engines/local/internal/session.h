// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "crochet/copies/internal/copy_memory.h"
#include "crochet/engines/local/internal/graph_state.h"
#include "crochet/engines/local/internal/run_frame.h"
#include "crochet/engines/local/internal/run_trace.h"
#include "crochet/engines/local/internal/spare_memory.h"
#include "crochet/session/internal/access_gate.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::local::internal {

// Runs a local::Graph on the calling thread. Runs of several threads are serialized, except
// those consisting only of concurrent operations that change nothing. Snapshots
// and assignments exclude runs that change variables. A repeated run allocates nothing.
class Session final : public crochet::Session {
 public:
  explicit Session(Graph& graph);
  ~Session() override;

  crochet::Graph& graph() const override { return graph_; }
  const std::string& target() const override { return target_; }
  void run_into(std::span<const Output> fetches, const Feeds& feeds, std::span<Tensor> results,
                const RunOptions& options, RunMetadata* metadata) override;
  // Throws: FailedPreconditionError after a run failed with some of its changes made or in the
  // middle of a change in place, or after an assign() failed, until the next
  // assign() succeeds: half a step is never saved.
  Snapshot snapshot(std::span<const Variable> variables) override;
  void assign(std::span<const Assignment> assignments) override;
  bool is_unchanged_by_error() const override { return !changed_by_error_; }
  void close() override;

 private:
  // The copies that a snapshot makes at once, and those it makes in the background: before an
  // operation changes borrowed arrays, or guarded by barriers.
  struct Copies {
    std::vector<crochet::internal::ParallelCopier::Copy> now;
    std::vector<crochet::internal::ParallelCopier::Copy> later;
    std::vector<Tensor> holders;  // Of the memory that `later` fills.
    crochet::internal::GuardedArrays guarded;
  };

  // Allocates the variables that were added to the graph since the last call.
  void follow_graph();
  // For a run that has passed the gate.
  void run_inside(RunFrame& frame, const Feeds& feeds, std::span<Tensor> results, RunTrace& trace);
  void execute(const Feeds& feeds, RunFrame& frame, RunTrace& trace);
  void call(const Node& node, RunFrame& frame);
  void change(const Node& node, KernelContext& context);
  // Copies those variables that the operation updates and somebody else holds.
  void make_unique(const Node& node);
  // The tensor that will be a copy of the array.
  Tensor copy_of(const VariableNode& node, const ArrayView& view, Copies& copies);
  crochet::internal::CopyMemory::Lent lend_copy_memory(const VariableNode& node,
                                                       const ArrayView& view);
  void assign_owned(const VariableNode& node, const Assignment& assignment);
  void assign_borrowed(const VariableNode& node, const Assignment& assignment);

  Graph& graph_;  // Not owned; outlives this.
  GraphState& state_;
  const std::string target_;

  RunFramePool frames_;
  // The first operation that the last exclusive run fetched; compared, not dereferenced.
  std::atomic<const OperationInfo*> repeated_operation_ = nullptr;

  std::atomic<size_t> num_followed_ = 0;  // Variables of the graph that have memory here.
  std::mutex growth_;                     // Held while the graph is followed.
  crochet::internal::AccessGate gate_;    // Guards what follows.
  // With the plan of the last exclusive run. A process forked in the middle of one has its own.
  crochet::internal::PerProcess<RunFrame> repeated_;
  SpareMemory spare_;
  std::vector<VariableMemory> owned_;  // By the variable's index; unset if borrowed.
  bool changed_by_error_ = false;  // Whether the last run that threw may have changed a variable.
  std::string half_done_;          // The operation that failed in the middle of a step, or "".
  // Used by make_unique(), and kept to be reused.
  std::vector<crochet::internal::ParallelCopier::Copy> update_copies_;
  std::vector<VariableMemory*> copied_variables_;

  std::mutex copy_memory_mutex_;  // Guards what follows: several threads may take snapshots.
  std::vector<crochet::internal::CopyMemory> copy_memory_;  // By the variable's index.

  const crochet::internal::SharedCopier copier_;  // Of the graph.
};

}  // namespace crochet::inline v0::local::internal
