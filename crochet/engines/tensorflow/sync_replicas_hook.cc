// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/sync_replicas_hook.h"

#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/dynamic_type.h"
#include "crochet/engines/tensorflow/session.h"
#include "crochet/training/coordinator.h"

namespace crochet::inline v0::tensorflow {
namespace {

// Steps may take long: a run that waits for gradients has no limit.
constexpr int64_t kNoLimitInMs = std::numeric_limits<int32_t>::max();

Output only_one(const crochet::Graph& graph, std::string_view collection) {
  const std::vector<Output> all = graph.collection(collection);
  if (all.size() != 1)
    throw FailedPreconditionError(fmt::format(
        "SyncReplicasHook: the graph's collection \"{}\" has {} operations, expected 1: export the "
        "graph with examples/tensorflow/sync_replicas.py",
        collection, all.size()));
  return all.front();
}

// Repeatedly applies the gradients of all workers until a stop is requested.
class Aggregation {
 public:
  Aggregation(crochet::Session& session, std::unique_ptr<crochet::Session> own, Output sync_op,
              std::stop_token stop)
      : session_(own ? *own : session),
        own_(std::move(own)),
        sync_op_(sync_op),
        stop_(std::move(stop)) {}

  void run() {
    const std::shared_ptr<void> at_end(nullptr, [this](void*) {
      const std::lock_guard lock(mutex_);
      has_ended_ = true;
      changed_.notify_all();
    });
    try {
      while (!stop_.stop_requested()) session_.run(sync_op_, {}, {.timeout_in_ms = kNoLimitInMs});
    } catch (const Error&) {
      // Closing the session cancels the waiting run.
      if (!stop_.stop_requested()) throw;
    }
  }

  void close_on_stop() {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop_, [this] { return has_ended_; });
    }
    if (own_) own_->close();
  }

 private:
  crochet::Session& session_;
  const std::unique_ptr<crochet::Session> own_;  // Null if the session is shared.
  const Output sync_op_;
  const std::stop_token stop_;

  std::mutex mutex_;  // Guards what follows.
  std::condition_variable_any changed_;
  bool has_ended_ = false;
};

class AggregationLoop final : public BackgroundLoop {
 public:
  explicit AggregationLoop(Output sync_op) : sync_op_(sync_op) {}

  const std::string& name() const override { return name_; }
  std::vector<BackgroundTask> tasks(crochet::Session& session, std::stop_token stop) override {
    std::unique_ptr<crochet::Session> own;
    if (!session.target().empty()) own = static_cast<Session&>(session).another();
    const auto work =
        std::make_shared<Aggregation>(session, std::move(own), sync_op_, std::move(stop));
    return {{"SyncReplicas-aggregate", [work] { work->run(); }},
            {"SyncReplicas-close_on_stop", [work] { work->close_on_stop(); }}};
  }

 private:
  const std::string name_ = "SyncReplicas";
  const Output sync_op_;
};

}  // namespace

void SyncReplicasHook::begin(crochet::Graph& graph) {
  for (const std::string_view collection : kSyncReplicasCollections) only_one(graph, collection);
}

void SyncReplicasHook::after_create_session(crochet::Session& session, Coordinator& coordinator) {
  if (crochet::internal::dynamic_as<Session>(&session) == nullptr)
    throw FailedPreconditionError("SyncReplicasHook: the session is not a TensorFlow session");
  const crochet::Graph& graph = session.graph();
  const Tensor missing = session.run(only_one(graph, kSyncReadyForLocalInitOp)).tensor();
  if (missing.is_set() && missing.num_elements() > 0)
    throw FailedPreconditionError(
        fmt::format("SyncReplicasHook: the model is not ready: variables not initialized: {}",
                    fmt::join(missing.strings(), ", ")));
  session.run(only_one(graph, options_.is_chief ? kSyncChiefInitOp : kSyncLocalStepInitOp));
  if (!options_.is_chief) return;
  session.run(only_one(graph, kSyncInitTokensOp));
  AggregationLoop loop(only_one(graph, kSyncOp));
  create_threads(loop, session, coordinator);
}

}  // namespace crochet::inline v0::tensorflow
