// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "crochet/base/export.h"
#include "crochet/group/group.h"
#include "crochet/group/group_environment.h"

namespace crochet::inline v0 {

struct JoinGroupOptions {
  // The most seconds that a call of the group waits for the other ranks, unless it has a limit of
  // its own.
  double timeout_secs = 1800;
  // The most seconds until rank 0 is reached: it may start later.
  double connect_timeout_secs = 300;
  // Instead of the environment's restart count, for a job that something else restarts: processes
  // of different starts never meet.
  std::optional<int64_t> generation = {};
};

// The group of the processes that torchrun, mpirun, Slurm or a script has started with this one,
// over TCP. Called once, by all of them:
//
//   int main() {
//     const std::shared_ptr<Group> group = join_group();
//
// Rank 0 listens at MASTER_ADDR and MASTER_PORT, and all others connect to it. Where torchrun has a
// store there, use libtorch::join.
//
// A rank whose process ends is noticed by the others at once, and one whose host is gone or out of
// reach in five seconds: in a call of the group, which throws, as well as during a step, in a
// warning in the log. A process that is busy, or suspended and continued, is not lost before the
// limit of a call is over.
//
// Destroying the group of rank 0 waits for the other ranks, which might not have read their last
// message: up to timeout_secs, or a few seconds if the group is lost or an exception destroys it.
//
// Rank 0 listens on all interfaces of the machine, and anyone who reaches it and knows the name of
// the job can take part: use it in a private network.
//
// Returns a SingleGroup in a process that none of them has started, or that is the only one.
//
// Throws: InvalidArgumentError for an environment that GroupEnvironment refuses;
// FailedPreconditionError if MASTER_ADDR or MASTER_PORT is missing, or torchrun serves a store
// there; UnavailableError, which names the rank and the address, if it cannot listen, or reach rank
// 0 in time; AlreadyExistsError, which names the other job, if the port is another job's, or if
// another process was this rank of this generation.
CROCHET_EXPORT std::shared_ptr<Group> join_group(const JoinGroupOptions& options = {});
CROCHET_EXPORT std::shared_ptr<Group> join_group(const GroupEnvironment& environment,
                                                 const JoinGroupOptions& options = {});

}  // namespace crochet::inline v0
