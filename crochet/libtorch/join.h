// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "crochet/base/export.h"
#include "crochet/group/group.h"
#include "crochet/group/group_environment.h"

namespace crochet::inline v0::libtorch {

struct JoinOptions {
  // The most seconds that a call of the group waits for the other ranks, unless it has a limit of
  // its own.
  double timeout_secs = 1800;
  // The most seconds until the store is reached: rank 0, which serves it, may start later.
  double connect_timeout_secs = 300;
  // Instead of the environment's restart count, for a job that something else restarts. A store
  // that outlives the processes of a job has the keys of all its starts: each needs another number.
  std::optional<int64_t> generation = {};
};

// The group of the processes that torchrun, mpirun or Slurm has started with this one, over
// LibTorch's TCPStore at MASTER_ADDR and MASTER_PORT. Called once, by all of them:
//
//   int main() {
//     const std::shared_ptr<Group> group = libtorch::join();
//
// Rank 0 serves the store, unless torchrun does. Then destroying the group waits for the other
// ranks, which might not have read their last message: up to timeout_secs, or a few seconds if the
// group is lost or an exception destroys it.
//
// A TCPStore listens on all interfaces of the machine, and anyone who reaches it can read and write
// it: use it in a private network.
//
// Returns a SingleGroup in a process that none of them has started, or that is the only one.
//
// Throws: InvalidArgumentError for an environment that GroupEnvironment refuses;
// FailedPreconditionError if MASTER_ADDR or MASTER_PORT is missing; UnavailableError, which names
// the rank and the address, if the store cannot be served or reached; AlreadyExistsError if another
// process was this rank of this generation.
CROCHET_EXPORT std::shared_ptr<Group> join(const JoinOptions& options = {});
CROCHET_EXPORT std::shared_ptr<Group> join(const GroupEnvironment& environment,
                                           const JoinOptions& options = {});

}  // namespace crochet::inline v0::libtorch
