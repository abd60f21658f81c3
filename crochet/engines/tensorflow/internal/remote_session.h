// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/session/graph.h"

struct TF_Session;

namespace crochet::inline v0::tensorflow::internal {

// The target of a session in a cluster, chosen such that every call ends.
//
// TensorFlow finds a server of this process by its own name for it, such as
// "grpc://localhost:2222", without using the network. Then no limit ends a call that waits for an
// absent member, and closing and deleting such a session crashes when the member
// appears. With any other name all limits work.
struct RemoteTarget {
  // "grpc://127.0.0.1:2222"; never TensorFlow's name for a server of this process.
  std::string target;
  std::string config;  // A ConfigProto with the limit.
  std::chrono::milliseconds limit{0};
};

// Throws: UnimplementedError unless the target is "grpc://<address>"; InvalidArgumentError for an
// invalid address or invalid settings.
CROCHET_EXPORT RemoteTarget remote_target(const std::string& target, const SessionConfig& config);

// Creates a session there, without a graph, and closes it: the session's server and all members
// that the device filters include must answer.
// Throws: DeadlineExceededError if one does not within the limit; TensorFlow's errors.
CROCHET_EXPORT void probe(const RemoteTarget& remote);

// "; absent: /job:ps/task:0 at 10.0.0.1:2222 (Connection refused)", for the members that the
// session waits for; "" if all are present, or if the server at the target, which knows them, is
// another process.
CROCHET_EXPORT std::string describe_absent(const RemoteTarget& remote);

// Closes a session in its own thread, as a member that hangs blocks it. After
// twice the limit the thread is detached, with the session.
class CROCHET_EXPORT RemoteClosing {
 public:
  RemoteClosing(TF_Session* session, const RemoteTarget& remote);
  // Deletes the session once it is closed. Requires: no run is in flight.
  void finish();

 private:
  struct State;

  const std::shared_ptr<State> state_;
  const std::string target_;
  const std::chrono::milliseconds limit_;
};

}  // namespace crochet::inline v0::tensorflow::internal
