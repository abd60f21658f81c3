// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "crochet/session/graph.h"

struct TF_Session;

namespace crochet::tensorflow::internal {

// Where a session in a cluster runs, such that every call ends.
//
// By the name that it has for a server of this process, such as "grpc://localhost:2222",
// TensorFlow finds that without asking the network. A call that an absent member keeps waiting is
// then not ended by any limit, and to close and delete such a session crashes when the member
// comes. By any other name all limits are kept.
struct RemoteTarget {
  std::string target;  // "grpc://127.0.0.1:2222": never TensorFlow's name for our own server.
  std::string config;  // A ConfigProto that has the limit.
  std::chrono::milliseconds limit{0};
};

// True for all but "", this process.
inline bool is_remote(std::string_view target) { return !target.empty(); }

// Throws: UnimplementedError unless the target is "grpc://<address>"; InvalidArgumentError for an
// address or settings that are none.
RemoteTarget remote_target(const std::string& target, const SessionConfig& config);

// Makes a session there, without a graph, and closes it: the session's server and all members that
// the device filters let it see must answer.
// Throws: DeadlineExceededError if one did not within the limit; what else TensorFlow says.
void probe(const RemoteTarget& remote);

// "; absent: /job:ps/task:0 at 10.0.0.1:2222 (Connection refused)", of the members that the session
// waits for; "" if all are there, or the server at the target, which knows them, is another
// process.
std::string describe_absent(const RemoteTarget& remote);

// Closes a session in a thread of its own, for a member that stands still keeps it waiting. After
// twice the limit the thread is left behind, with the session.
class RemoteClosing {
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

}  // namespace crochet::tensorflow::internal
