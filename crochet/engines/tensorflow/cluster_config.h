// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/session/graph.h"

namespace crochet::tensorflow {

// How long a member of a cluster may keep a call waiting if nothing else was said.
inline constexpr std::chrono::milliseconds kDefaultOperationTimeout{60'000};

struct ClusterConfigOptions {
  // The devices a session sees, "/job:ps", "/job:worker/task:1"; empty: all. It waits for the
  // tasks it sees, and for no other.
  std::vector<std::string> device_filters = {};
  // After this time creating the session, a run of it (unless RunOptions says otherwise) and
  // closing it end with a DeadlineExceededError. A member that was restarted is waited for as long.
  std::chrono::milliseconds operation_timeout = kDefaultOperationTimeout;
  // The session has variables of its own instead of the cluster's.
  bool isolate_session_state = false;
  // What else is wanted: a serialized ConfigProto.
  std::string base = {};
};

// The settings of a session in a cluster.
//
//   train({.graph = graph,
//          .master = server.target(),
//          .config = cluster_config({.device_filters = filters_of_task("worker", 1)})}, body);
//
// Throws: InvalidArgumentError for a filter that is no device, a limit that is not above 0, or a
// base that is no message.
SessionConfig cluster_config(const ClusterConfigOptions& options);

// What a worker needs: the variables' tasks and itself. So a worker that is absent or lost does
// not concern the others.
std::vector<std::string> filters_of_task(std::string_view job, int task,
                                         std::string_view variables_job = "ps");

namespace internal {

// The limit in a serialized ConfigProto; 0 if it has none.
// Throws: InvalidArgumentError if the bytes are none.
std::chrono::milliseconds operation_timeout_of(std::string_view config);
// The same bytes with another limit.
std::string with_operation_timeout(std::string config, std::chrono::milliseconds limit);

}  // namespace internal

}  // namespace crochet::tensorflow
