// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "crochet/base/internal/export.h"
#include "crochet/base/internal/no_options.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0::tensorflow {

// The collections, of one operation each, with the operations that a
// tf.compat.v1.train.SyncReplicasOptimizer added to a graph. Python does not export them by itself:
// examples/tensorflow/sync_replicas.py has the function to call before the export.
inline constexpr std::string_view kSyncChiefInitOp = "sync_replicas/chief_init_op";
inline constexpr std::string_view kSyncLocalStepInitOp = "sync_replicas/local_step_init_op";
inline constexpr std::string_view kSyncReadyForLocalInitOp =
    "sync_replicas/ready_for_local_init_op";
inline constexpr std::string_view kSyncInitTokensOp = "sync_replicas/init_tokens_op";
inline constexpr std::string_view kSyncOp = "sync_replicas/sync_op";
inline constexpr std::array<std::string_view, 5> kSyncReplicasCollections = {
    kSyncChiefInitOp, kSyncLocalStepInitOp, kSyncReadyForLocalInitOp, kSyncInitTokensOp, kSyncOp};

struct SyncReplicasHookOptions {
  // True in the worker that applies the gradients of all: the chief.
  bool is_chief = true;
};

// The hook for each worker that trains synchronously with a SyncReplicasOptimizer: Python's
// optimizer.make_session_run_hook(is_chief).
//
//   train({.graph = graph, .master = server.target(), .is_chief = task == 0,
//          .hooks = {tensorflow::SyncReplicasHook({.is_chief = task == 0})}, ...}, body);
//
// In each session it initialises the worker's local step, and on the chief fills the queue of
// tokens. In its own thread, and its own session at the same target, the chief collects the
// gradients of enough workers and applies them. That session is closed as soon as a stop is
// requested, so that nothing waits for gradients that no worker will send.
//
// Without a target a session has its own variables. Then the thread shares the session, and
// the run ends only after stop_grace_period_secs: synchronous training is for clusters.
class CROCHET_EXPORT SyncReplicasHook final : public SessionRunHook {
 public:
  explicit SyncReplicasHook(const SyncReplicasHookOptions& options = {}) : options_(options) {}
  explicit SyncReplicasHook(crochet::internal::NoOptions) : SyncReplicasHook() {}

  // Throws: FailedPreconditionError if the graph lacks one of the collections.
  void begin(crochet::Graph& graph) override;
  // Throws: FailedPreconditionError if global variables are not initialized, or the session is
  // another engine's.
  void after_create_session(crochet::Session& session, Coordinator& coordinator) override;

 private:
  SyncReplicasHookOptions options_;
};

}  // namespace crochet::inline v0::tensorflow
