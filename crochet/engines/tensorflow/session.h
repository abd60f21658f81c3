// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/engines/tensorflow/graph.h"
#include "crochet/engines/tensorflow/internal/remote_session.h"
#include "crochet/session/graph.h"
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

// Settings of a session in this process whose runs compute one operation after another on the
// calling thread, rather than on TensorFlow's threads: for graphs of many small
// operations, where switching threads costs more than parallelism saves. A single operation, such
// as a large product, may still use several threads.
//
//   train({.graph = graph, .config = tensorflow::callers_thread_config()}, body);
//
// An operation that waits for another one of the same run, such as a dequeue for an enqueue, blocks
// that run until its timeout. A timeout is checked only when nothing is left to compute: it
// does not end an endless loop (While); closing the session does.
//
// `base`: other settings, a serialized ConfigProto.
CROCHET_EXPORT SessionConfig callers_thread_config(std::string base = {});

// Settings of a session in this process whose runs use TensorFlow's single-threaded
// executor: one operation after another, in an order computed beforehand, on the calling thread,
// or on another one if the run has a timeout. For many small operations it has the lowest overhead.
//
//   train({.graph = graph, .config = tensorflow::single_threaded_config()}, body);
//
// That executor rejects some operations that the default one runs, also with
// callers_thread_config(). The first run with one of these throws:
//
// - UnimplementedError: a reference variable.
// - FailedPreconditionError: control flow of the graph itself (Switch, Merge, Enter; `If`, `While`
//   and calls of functions run).
//
// If its runs could hang in spite of their timeouts, InvalidArgumentError is thrown: by a
// session with more than one device (ConfigProto.device_count limits them) or also with
// inter_op_parallelism_threads < 0 (the caller's thread), and by a run with
// RunOptions::inter_op_thread_pool < 0.
//
// An operation that waits for another one of the same run waits until the timeout, and a run with a
// timeout occupies one of TensorFlow's threads. RunMetadata has no operations.
//
// `base`: other settings, a serialized ConfigProto.
CROCHET_EXPORT SessionConfig single_threaded_config(std::string base = {});

namespace internal {

// True if a serialized ConfigProto selects that executor.
// Throws: InvalidArgumentError if timeouts would not work with it, or if it is not a ConfigProto.
CROCHET_EXPORT bool is_single_threaded(std::string_view config);

}  // namespace internal
}  // namespace crochet::inline v0::tensorflow
