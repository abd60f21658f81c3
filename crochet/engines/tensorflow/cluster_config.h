// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0::tensorflow {

// The default for how long a member of a cluster may block a call.
inline constexpr std::chrono::milliseconds kDefaultOperationTimeout{60'000};

struct ClusterConfigOptions {
  // The devices that a session sees, "/job:ps", "/job:worker/task:1"; empty: all. It waits only for
  // the tasks it sees.
  std::vector<std::string> device_filters = {};
  // After this time creating the session, a run (unless RunOptions sets another limit) and
  // closing it fail with a DeadlineExceededError. The wait for a restarted member has this limit
  // too.
  std::chrono::milliseconds operation_timeout = kDefaultOperationTimeout;
  // If true, the session has its own variables instead of the cluster's.
  bool isolate_session_state = false;
  // Other settings: a serialized ConfigProto.
  std::string base = {};
};

// The settings of a session in a cluster.
//
//   train({.graph = graph,
//          .master = server.target(),
//          .config = cluster_config({.device_filters = filters_of_task("worker", 1)})}, body);
//
// Throws: InvalidArgumentError for a filter that is not a device, a limit that is not above 0, or a
// base that is not a ConfigProto.
CROCHET_EXPORT SessionConfig cluster_config(const ClusterConfigOptions& options);

// The filters for a worker: the tasks with variables and the worker itself. So a worker that is
// absent or lost does not affect the others.
CROCHET_EXPORT std::vector<std::string> filters_of_task(std::string_view job, int task,
                                                        std::string_view variables_job = "ps");

namespace internal {

// The limit in a serialized ConfigProto; 0 if it has none.
// Throws: InvalidArgumentError if the bytes are not a ConfigProto.
CROCHET_EXPORT std::chrono::milliseconds operation_timeout_of(std::string_view config);
// The same bytes with another limit.
CROCHET_EXPORT std::string with_operation_timeout(std::string config,
                                                  std::chrono::milliseconds limit);

}  // namespace internal

}  // namespace crochet::inline v0::tensorflow
