// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Joins the group of its one process, without MPI's own headers.
#include <crochet/crochet.h>
#include <crochet/mpi/join.h>

int main(int argc, char** argv) {
  const std::shared_ptr<crochet::Group> group = crochet::mpi::join(argc, argv);
  group->barrier();
  return group->all_max(group->size()) == 1 ? 0 : 1;
}
