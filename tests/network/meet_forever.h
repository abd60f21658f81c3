// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>

#include "crochet/base/error.h"
#include "crochet/group/group.h"

namespace crochet {

inline int report(const Error& error) {
  std::printf("error %s: %s\n", code_name(error.code()), error.what());
  std::fflush(stdout);
  return 1;
}

// Prints at once how it ended: the end of a group waits for the others.
inline int make_steps(Group& group, int computing) {
  constexpr int kStepsBefore = 20;
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

// A rank of a group that meets over and over. Prints its process, a line for each ten steps, and
// how it ended. The rank `computing` computes forever after a few steps.
inline int meet_forever(const std::function<std::shared_ptr<Group>()>& join, int computing) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::printf("process %d\n", static_cast<int>(::getpid()));
  try {
    return make_steps(*join(), computing);
  } catch (const Error& error) {
    return report(error);
  }
}

}  // namespace crochet
