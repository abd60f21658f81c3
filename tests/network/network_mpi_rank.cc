// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// network_mpi_rank <group timeout> <connect timeout> [<rank that computes>]: network_rank as a job
// of MPI, which has no timeout of its own for connecting.
#include <cstdlib>

#include "crochet/mpi/join.h"
#include "tests/network/meet_forever.h"

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  return crochet::meet_forever(
      [&] { return crochet::mpi::join(argc, argv, {.timeout_secs = std::atof(argv[1])}); },
      argc == 4 ? std::atoi(argv[3]) : -1);
}
