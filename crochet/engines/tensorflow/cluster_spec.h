// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/export.h"

namespace crochet::inline v0::tensorflow {

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

}  // namespace crochet::inline v0::tensorflow
