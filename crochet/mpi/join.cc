// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/mpi/join.h"

#include <fmt/format.h>
#include <mpi.h>

#include "crochet/base/error.h"
#include "crochet/group/group_environment.h"
#include "crochet/mpi/mpi_group.h"

namespace crochet::inline v0::mpi {
namespace {

// Returns whether this call initialised MPI.
bool initialize(int argc, char** argv) {
  int flag = 0;
  MPI_Finalized(&flag);
  if (flag != 0) throw FailedPreconditionError("mpi::join: MPI is already finalized");
  MPI_Initialized(&flag);
  if (flag != 0) return false;
  int provided = 0;
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
    throw UnavailableError("mpi::join: MPI_Init_thread failed");
  return true;
}

void check_launcher(const GroupEnvironment& environment) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size == 1 && environment.size > 1)
    throw FailedPreconditionError(
        fmt::format("mpi::join: MPI has 1 process, expected {} as {}'s environment says: the "
                    "program is linked with another MPI than the one that started it",
                    environment.size, environment.launcher));
}

}  // namespace

std::shared_ptr<Group> join(int argc, char** argv, const JoinOptions& options) {
  const GroupEnvironment environment = GroupEnvironment::from_environment();
  const bool is_own = initialize(argc, argv);
  try {
    check_launcher(environment);
    return std::make_shared<MpiGroup>(options.timeout_secs, is_own);
  } catch (...) {
    if (is_own) MPI_Finalize();
    throw;
  }
}

}  // namespace crochet::inline v0::mpi
