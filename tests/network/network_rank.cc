// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// network_rank <group timeout> <connect timeout> [<a rank that computes forever after a few
// steps>]
//
// A rank of a group that meets over and over. Prints a line for each ten steps, and how it ended.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "crochet/base/error.h"
#include "crochet/group/join.h"

using namespace crochet;

namespace {

constexpr int kStepsBefore = 20;

int report(const Error& error) {
  std::printf("error %s: %s\n", code_name(error.code()), error.what());
  return 1;
}

int meet_forever(Group& group, int computing) {
  for (int step = 1; true; ++step) {
    try {
      group.barrier();
    } catch (const Error& error) {
      return report(error);
    }
    if (step % 10 == 0) std::printf("step %d\n", step);
    if (group.rank() == computing && step == kStepsBefore) ::pause();
    ::usleep(10'000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  const int computing = argc == 4 ? std::atoi(argv[3]) : -1;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    const std::shared_ptr<Group> group = join_group(
        {.timeout_secs = std::atof(argv[1]), .connect_timeout_secs = std::atof(argv[2])});
    return meet_forever(*group, computing);
  } catch (const Error& error) {
    return report(error);
  }
}
