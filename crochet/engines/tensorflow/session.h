// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/engines/tensorflow/graph.h"
#include "crochet/engines/tensorflow/internal/remote_session.h"
#include "crochet/session/internal/access_gate.h"
#include "crochet/session/session.h"

struct TF_Session;

namespace crochet::inline v0::tensorflow {

// Runs a graph with TensorFlow, in this process or in a cluster. Variables have no values until
// they are initialised or assigned; reading them before throws FailedPreconditionError.
//
// Runs of several threads overlap, as TensorFlow's do. Snapshots and assignments wait for
// runs that change saved variables, and block such runs; changes of other state, such as
// input pipelines and local variables, do not count.
//
// Fed tensors are held, not copied, until TensorFlow releases them. Fetched ones hold
// TensorFlow's memory, or are copies if that might be a reference variable's.
//
// A session in a cluster shares its variables with the other members: closing it does not delete
// them, and changes by other members cannot be blocked. All its calls have limits; see
// ClusterConfigOptions.
class CROCHET_EXPORT Session final : public crochet::Session {
 public:
  // `target`: "" for this process, or "grpc://<host>:<port>" for a member of a cluster, which must
  // answer, as must all members that the device filters include.
  // Throws: UnimplementedError for any other target; InvalidArgumentError for invalid
  // settings; DeadlineExceededError if members do not answer;
  // FailedPreconditionError for a graph of another worker (ImportOptions::task).
  Session(Graph& graph, std::string target, const SessionConfig& config);
  ~Session() override;

  crochet::Graph& graph() const override { return graph_; }
  const std::string& target() const override { return target_; }
  // A new session with the same graph, target and settings.
  std::unique_ptr<Session> another() const {
    return std::make_unique<Session>(graph_, target_, config_);
  }

  // Also throws the error for TensorFlow's code, with the operation that failed;
  // CancelledError if the session is closed meanwhile. After a DeadlineExceededError it is unknown
  // how much of the step was done.
  void run_into(std::span<const Output> fetches, const Feeds& feeds, std::span<Tensor> results,
                const RunOptions& options, RunMetadata* metadata) override;
  // Takes one run: the memory of resource variables is shared, that of reference variables is
  // copied within the run.
  Snapshot snapshot(std::span<const Variable> variables) override;
  // Feeds the values to the variables' own initialisers, all in one run, except those whose
  // initialisers share an input. Nothing is changed if a `fill` throws.
  // Also throws InvalidArgumentError for shapes that are not the variables', which TensorFlow
  // does not check; UnimplementedError for a variable whose initialiser assigns nothing.
  void assign(std::span<const Assignment> assignments) override;
  // Cancels all runs, even those that hang, and waits until they have ended.
  void close() override;

 private:
  class Request;

  // `what` describes the run in messages.
  void execute(Request& request, const std::function<std::string()>& what,
               const RunOptions& options, RunMetadata* metadata);
  void check_has_one_device();
  crochet::internal::Access access_of(std::span<const Output> fetches);
  void check_feeds(const Feeds& feeds) const;

  Graph& graph_;  // Not owned; outlives this.
  const std::string target_;
  const SessionConfig config_;
  const std::optional<internal::RemoteTarget> remote_;  // None in this process.
  const bool is_single_threaded_;
  TF_Session* session_ = nullptr;
  crochet::internal::AccessGate gate_;

  std::mutex mutex_;  // Guards what follows.
  // How runs of these operations access variables: cached, as it takes a search of the graph.
  std::map<std::vector<const OperationInfo*>, crochet::internal::Access> accesses_;
};

}  // namespace crochet::inline v0::tensorflow
