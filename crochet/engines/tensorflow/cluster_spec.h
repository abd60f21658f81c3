// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0::tensorflow {

// A device, or a set of devices, as TensorFlow writes it:
// "/job:worker/replica:0/task:1/device:CPU:0". An unset part, "*" in the text, matches any.
struct DeviceName {
  std::optional<std::string> job = {};
  std::optional<int> replica = {};
  std::optional<int> task = {};
  std::optional<std::string> type = {};  // "CPU", "GPU".
  std::optional<int> index = {};         // Among the devices of that type.

  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

// Nothing if the text is invalid for TensorFlow. "" is any device; "/cpu:0" is "/device:CPU:0".
// If a part is repeated, the last one counts.
CROCHET_EXPORT std::optional<DeviceName> parse_device_name(std::string_view text);

// The text with its parts in TensorFlow's order; "" for any device.
CROCHET_EXPORT std::string to_string(const DeviceName& device);

// A letter, then letters, digits and "_".
CROCHET_EXPORT bool is_legal_job_name(std::string_view name);

// The members of a cluster: jobs, each with numbered tasks, each at an address.
//
//   const ClusterSpec cluster({{"ps", {"10.0.0.1:2222"}},
//                              {"worker", {"10.0.0.2:2222", "10.0.0.3:2222"}}});
//
// All members must use the same. A value.
class CROCHET_EXPORT ClusterSpec {
 public:
  // Addresses by job, in order of the tasks.
  using Jobs = std::map<std::string, std::vector<std::string>>;

  // Throws: InvalidArgumentError for no jobs, a job without tasks, an invalid name ("ps-1"), an
  // address that is not "host:port", and an address that two tasks share. With port 0 the
  // member itself chooses one; others cannot reach it.
  explicit ClusterSpec(Jobs jobs);
  // The same for a list of jobs: with a single one, braces would be ambiguous.
  ClusterSpec(std::initializer_list<Jobs::value_type> jobs) : ClusterSpec(Jobs(jobs)) {}

  const Jobs& jobs() const { return jobs_; }
  // Throw: InvalidArgumentError for a job or a task that does not exist.
  int num_tasks(std::string_view job) const;
  const std::string& task_address(std::string_view job, int task) const;

 private:
  const std::vector<std::string>& addresses(std::string_view job) const;

  Jobs jobs_;
};

// "/job:worker/task:1".
CROCHET_EXPORT std::string task_device(std::string_view job, int task);

// The port of "host:port" or "[::1]:port". Throws: InvalidArgumentError for any other text, and for
// a port above 65535.
CROCHET_EXPORT int port_of_address(std::string_view address);

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
