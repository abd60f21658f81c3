// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// lost_rank <how>: a job whose last rank gets lost. The others print how they learned of it.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "crochet/base/clock.h"
#include "crochet/base/error.h"
#include "crochet/mpi/join.h"

using namespace crochet;

namespace {

// mpirun would wait for it.
void stop() {
  if (::fork() == 0) {
    ::sleep(6);
    ::kill(::getppid(), SIGKILL);
    ::_exit(0);
  }
  raise(SIGSTOP);
}

void lose_rank(Group& group, const std::string& how) {
  if (how == "killed") raise(SIGKILL);
  if (how == "stopped") stop();
  if (how == "leaves") group.leave("its disk is full");
  throw std::runtime_error("the last rank ends");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const std::shared_ptr<Group> group = mpi::join(argc, argv, {.timeout_secs = 2});
    group->barrier();
    if (group->rank() == group->size() - 1) lose_rank(*group, argv[1]);
    const Clock::TimePoint start = Clock::real().now();
    try {
      group->barrier();
    } catch (const Error& error) {
      const double secs = to_seconds(Clock::real().now() - start);
      std::printf("rank %d: %s: %s, after %.1f s\n", group->rank(), code_name(error.code()),
                  error.what(), secs);
      std::fflush(stdout);
      return 3;
    }
    std::printf("rank %d: no error\n", group->rank());
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  return 0;
}
