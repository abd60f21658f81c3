// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/mpi/join.h"

#include <fmt/format.h>
#include <mpi.h>

#include "crochet/base/error.h"
#include "crochet/group/join.h"
#include "crochet/mpi/internal/communicator.h"
#include "crochet/mpi/internal/mpi_group.h"

namespace crochet::inline v0::mpi {
namespace {

bool is_initialized() {
  int flag = 0;
  MPI_Finalized(&flag);
  if (flag != 0) throw FailedPreconditionError("mpi::join: MPI is already finalized");
  MPI_Initialized(&flag);
  return flag != 0;
}

// Returns whether this call initialised MPI.
bool initialize(int argc, char** argv) {
  if (is_initialized()) return false;
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

MPI_Comm checked(int handle) {
  if (!is_initialized())
    throw FailedPreconditionError(
        "mpi::join: MPI is not initialised, as it must be for a communicator of the program's own");
  MPI_Comm communicator = MPI_Comm_f2c(handle);
  if (communicator == MPI_COMM_NULL)
    throw InvalidArgumentError("mpi::join: the communicator is MPI_COMM_NULL");
  return communicator;
}

std::shared_ptr<Group> group_of(MPI_Comm communicator, const JoinOptions& options, bool finalizes) {
  return std::make_shared<internal::MpiGroup>(
      std::make_shared<internal::MpiGroup::Communicator>(communicator, options.timeout_secs),
      options.timeout_secs, finalizes);
}

}  // namespace

std::shared_ptr<Group> join(int argc, char** argv, const JoinOptions& options) {
  if (options.communicator) return group_of(checked(*options.communicator), options, false);
  const GroupEnvironment environment = GroupEnvironment::from_environment();
  const bool is_own = initialize(argc, argv);
  try {
    check_launcher(environment);
    return group_of(MPI_COMM_WORLD, options, is_own);
  } catch (...) {
    if (is_own) MPI_Finalize();
    throw;
  }
}

}  // namespace crochet::inline v0::mpi
