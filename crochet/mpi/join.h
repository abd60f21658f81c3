// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "crochet/base/internal/export.h"
#include "crochet/group/group.h"

namespace crochet::inline v0::mpi {

struct JoinOptions {
  // The most seconds that a call of the group waits for the other ranks, unless it has a limit of
  // its own.
  double timeout_secs = 1800;
  // MPI_Comm_c2f() of a communicator of the program's own, whose processes and ranks the group has:
  // one of several models that are trained in one job, or those that train beside others. All its
  // processes call join(); it is copied. The program has initialised MPI, and finalizes it after
  // the group's end. Unset: MPI_COMM_WORLD.
  std::optional<int> communicator = {};
};

// The group of all processes that mpirun, or srun, has started with this one, unless the options
// have a communicator. Called by all of them:
//
//   int main(int argc, char** argv) {
//     const std::shared_ptr<Group> group = mpi::join(argc, argv);
//
// Initialises MPI unless the program has done so already. MPI that this initialised is finalized
// with the group, once all ranks have come to its end, but not if the group is lost or is destroyed
// by an exception: the other ranks might never arrive. mpirun ends the job in that case.
//
// The group has a communicator of its own, on which errors are returned. Ranks that have waited for
// some time inform rank 0, so that it can name the missing ones. MPI itself does not report who is
// lost, so that each rank has a connection of TCP to rank 0, too: a rank that is killed is noticed
// by the others as docs/distributed.md says, unless mpirun ends the job first, which it does unless
// it was called with --enable-recovery. Where there can be no such connection, a warning says so,
// and a rank that is lost is noticed when the limit is over.
//
// Throws: UnavailableError for an error of MPI; DeadlineExceededError if not all ranks join in
// time; InvalidArgumentError for MPI_COMM_NULL; FailedPreconditionError if MPI is
// finalized, not initialised where there is a communicator, or knows one process where the
// environment has several: then the program is linked with another MPI than the one that started
// it, and each process would take itself for rank 0.
CROCHET_EXPORT std::shared_ptr<Group> join(int argc, char** argv, const JoinOptions& options = {});

}  // namespace crochet::inline v0::mpi
