// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/engines/tensorflow/cluster_spec.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0::tensorflow {

struct ServerOptions {
  ClusterSpec cluster;
  // The member that this process is.
  std::string job_name;
  int task_index = 0;
  // The settings for sessions that have none.
  SessionConfig config = {};
};

// Makes this process a member of a cluster, until it ends.
//
//   const Server server({.cluster = cluster, .job_name = "worker", .task_index = 1});
//   train({.graph = graph, .master = server.target(), ...}, body);
//
// A member that only holds variables calls join() and is stopped by a signal.
//
// TensorFlow can neither stop nor delete a server: there is one per process, which continues when
// this object is destroyed. It listens on all of the machine's interfaces, whatever host its
// address names, and obeys anyone who connects: a cluster belongs in a private network.
class CROCHET_EXPORT Server {
 public:
  // Throws: InvalidArgumentError for a member that the cluster does not have, or settings that are
  // not a ConfigProto; FailedPreconditionError if this process already has a server, or another one
  // listens on its port; PermissionDeniedError for a port that it may not use; TensorFlow's
  // errors.
  explicit Server(const ServerOptions& options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The target for sessions of this process: "grpc://127.0.0.1:2222", or with "localhost" if that
  // is its address, with the port on which it listens.
  const std::string& target() const { return target_; }
  int port() const { return port_; }

  // Serves until a signal ends the process.
  [[noreturn]] void join() const;

 private:
  std::string target_;
  int port_ = 0;
};

namespace internal {

// A free port of this machine.
CROCHET_EXPORT int find_free_port();

// The server at `target`, by a name that makes TensorFlow use the network: see
// remote_session.h.
CROCHET_EXPORT std::string target_by_network(const std::string& target);

struct Member {
  DeviceName task;
  ClusterSpec cluster;
};
// This process, if its server is the one at `target`.
CROCHET_EXPORT std::optional<Member> own_member_at(const std::string& target);

// A serialized ServerDef.
CROCHET_EXPORT std::string server_definition(const ServerOptions& options);

}  // namespace internal

}  // namespace crochet::inline v0::tensorflow
