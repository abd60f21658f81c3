// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <mpi.h>

#include "crochet/base/export.h"
#include "crochet/group/group.h"
#include "crochet/mpi/join.h"

namespace crochet::inline v0::mpi {

// The group of the processes of a communicator of the program's own, whose ranks it has: one of
// several models that are trained in one job, or the processes that train beside others that do
// not. Called by all processes of the communicator, which is copied. Requires: the program has
// initialised MPI, and finalizes it after the group's end. The program compiles with MPI's headers
// itself. Throws: as the other join().
CROCHET_EXPORT std::shared_ptr<Group> join(MPI_Comm communicator, const JoinOptions& options = {});

}  // namespace crochet::inline v0::mpi
