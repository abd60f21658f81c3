// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "crochet/engines/tensorflow/cluster_spec.h"
#include "crochet/engines/tensorflow/server.h"

namespace crochet::tensorflow {

// The server of the test program: "/job:worker/task:0" of a cluster whose "/job:absent/task:0"
// never starts.
inline const Server& test_server() {
  static const Server* const server =
      new Server({.cluster = ClusterSpec(
                      {{"absent", {"127.0.0.1:" + std::to_string(internal::find_free_port())}},
                       {"worker", {"localhost:0"}}}),
                  .job_name = "worker"});
  return *server;
}

// A session that sees only this server, and has its own variables.
inline SessionConfig isolated_config(std::chrono::milliseconds limit = kDefaultOperationTimeout) {
  return cluster_config({.device_filters = {"/job:worker"},
                         .operation_timeout = limit,
                         .isolate_session_state = true});
}

}  // namespace crochet::tensorflow
