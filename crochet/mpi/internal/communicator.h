// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "crochet/mpi/internal/mpi_group.h"

namespace crochet::inline v0::mpi::internal {

// A copy of a communicator, on which errors are returned.
class MpiGroup::Communicator {
 public:
  // Called by all of its ranks. Throws: UnavailableError; DeadlineExceededError if they do not.
  Communicator(MPI_Comm original, double timeout_secs);
  // Waits for the other ranks, so it is not for a destructor.
  void free();

  MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace crochet::inline v0::mpi::internal
