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

#include "crochet/engines/tensorflow/graph.h"
#include "crochet/engines/tensorflow/remote_session.h"
#include "crochet/session/access_gate.h"
#include "crochet/session/session.h"

struct TF_Session;

namespace crochet::tensorflow {

// Runs an imported graph by TensorFlow, here or at an address. Variables have no values until they
// are initialised or assigned; reading them before throws FailedPreconditionError.
//
// Runs of several threads go on together, as TensorFlow's do. Snapshots and assignments wait for
// runs that change saved variables, and keep such runs waiting; for that what other runs change,
// the state of input pipelines and local variables, does not count.
//
// Fed tensors are held, not copied, until TensorFlow lets go of them. Fetched ones hold
// TensorFlow's memory, or are copies where that might be a reference variable's.
//
// A session in a cluster shares its variables with the other members: closing it leaves them,
// and what other members change meanwhile is kept waiting by nobody. All its calls have limits; see
// ClusterConfigOptions.
class Session final : public crochet::Session {
 public:
  // `target`: "", this process, or "grpc://<host>:<port>", a member of a cluster, which must
  // answer, as must those that the device filters include.
  // Throws: UnimplementedError for another target; InvalidArgumentError for settings that
  // TensorFlow does not know; DeadlineExceededError if members did not answer;
  // FailedPreconditionError for a graph of other workers than this one (ImportOptions::task).
  Session(Graph& graph, std::string target, const SessionConfig& config);
  ~Session() override;

  crochet::Graph& graph() const override { return graph_; }
  const std::string& target() const override { return target_; }
  // A new session over the same graph at the same place, with the same settings.
  std::unique_ptr<Session> another() const {
    return std::make_unique<Session>(graph_, target_, config_);
  }

  // Throws besides: the error of TensorFlow's code, with the operation that failed;
  // CancelledError if the session is closed meanwhile. After a DeadlineExceededError how much of
  // the step was done is unknown.
  void run_into(std::span<const Output> fetches, const Feeds& feeds, std::span<Tensor> results,
                const RunOptions& options, RunMetadata* metadata) override;
  // One run: of resource variables the memory is shared, of reference variables it is copied within
  // the run.
  Snapshot snapshot(std::span<const Variable> variables) override;
  // Gives the values to the variables' own initialisers, all in one run but for those whose
  // initialisers share what they take. Nothing is changed if a `fill` throws.
  // Throws besides: InvalidArgumentError for shapes that are not the variables', which TensorFlow
  // does not check; UnimplementedError for a variable whose initialiser assigns nothing.
  void assign(std::span<const Assignment> assignments) override;
  // Ends runs that hang, too. Waits until all have ended.
  void close() override;

 private:
  class Request;

  // `what` says, in messages, what failed.
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
  // What a run of these operations does to variables: finding out takes a look at the graph.
  std::map<std::vector<const OperationInfo*>, crochet::internal::Access> accesses_;
};

}  // namespace crochet::tensorflow
