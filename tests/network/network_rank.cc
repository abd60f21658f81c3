// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// network_rank <group timeout> <connect timeout> [<rank that computes>]: see meet_forever.
#include <cstdlib>

#include "crochet/group/join.h"
#include "tests/network/meet_forever.h"

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  return crochet::meet_forever(
      [argv] {
        return crochet::join_group(
            {.timeout_secs = std::atof(argv[1]), .connect_timeout_secs = std::atof(argv[2])});
      },
      argc == 4 ? std::atoi(argv[3]) : -1);
}
