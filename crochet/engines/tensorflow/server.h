// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "crochet/engines/tensorflow/cluster_spec.h"
#include "crochet/engines/tensorflow/device_name.h"
#include "crochet/session/graph.h"

namespace crochet::tensorflow {

struct ServerOptions {
  ClusterSpec cluster;
  // Which of its members this process is.
  std::string job_name;
  int task_index = 0;
  // What sessions have that come with no settings of their own.
  SessionConfig config = {};
};

// Makes this process a member of a cluster, until it ends.
//
//   const Server server({.cluster = cluster, .job_name = "worker", .task_index = 1});
//   train({.graph = graph, .master = server.target(), ...}, body);
//
// A member that only holds variables calls join() and is ended from outside.
//
// TensorFlow can neither stop nor delete a server: there is one a process, which goes on when this
// object is gone. It listens on all of the machine's interfaces, whatever host its address
// names, and does as it is told by whoever connects: a cluster belongs in a private network.
class Server {
 public:
  // Throws: InvalidArgumentError for a member that the cluster does not have, or settings that are
  // no ConfigProto; FailedPreconditionError if this process has a server already, or another one
  // listens at its port; PermissionDeniedError for a port that it may not have; what TensorFlow
  // says.
  explicit Server(const ServerOptions& options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // For sessions of this process: "grpc://127.0.0.1:2222", or "localhost" where that is its
  // address, with the port it listens at.
  const std::string& target() const { return target_; }
  int port() const { return port_; }

  // Serves until a signal ends the process.
  [[noreturn]] void join() const;

 private:
  std::string target_;
  int port_ = 0;
};

namespace internal {

// A port of this machine that nobody listens at now.
int find_free_port();

// The same server as `target`, by a name under which TensorFlow does not find it in this process:
// see remote_session.h.
std::string target_by_network(const std::string& target);

// Which task this process is, if its server is the one at `target`.
std::optional<DeviceName> own_task_at(const std::string& target);

// The members of the cluster that the server at `target` knows, if it is this process's.
std::optional<ClusterSpec> own_cluster_at(const std::string& target);

// A serialized ServerDef.
std::string server_definition(const ServerOptions& options);

}  // namespace internal

}  // namespace crochet::tensorflow
