// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// loop_rank <directory> <last step> [<what happens> <rank> <step>]: a rank that counts steps.
// Prints how it ended. What happens: signal, error, unavailable, killed; suspended, for longer than
// the group's limit. It happens to all ranks if <rank> is -1.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/hooks/signal_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/mpi/join.h"

using namespace crochet;

namespace {

constexpr unsigned kTimeoutSecs = 3;

// The ranks wake one after the other.
void suspend(int rank) {
  if (::fork() == 0) {
    ::sleep(kTimeoutSecs + 1 + (rank == 1 ? 1 : 0));
    ::kill(::getppid(), SIGCONT);
    ::_exit(0);
  }
  std::raise(SIGSTOP);
}

void happen(const std::string& what, int rank) {
  if (what == "suspended") suspend(rank);
  if (what == "signal") std::raise(SIGTERM);
  if (what == "killed") std::raise(SIGKILL);
  if (what == "error") throw std::runtime_error("out of memory");
  if (what == "unavailable") throw UnavailableError("a device is lost");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 6) return 2;
  const std::string what = argc == 6 ? argv[3] : "";
  const int rank = argc == 6 ? std::atoi(argv[4]) : 0;
  const int64_t step_of_it = argc == 6 ? std::atoi(argv[5]) : -1;
  int code = 0;
  // Ends with the process, whose errors are reported before.
  const std::shared_ptr<Group> group = mpi::join(argc, argv);
  try {
    int64_t count = group->rank();
    bool has_happened = false;
    Loop loop(
        {.checkpoint = {.dir = argv[1], .every_steps = 5},
         .ranks = {.group = group, .timeout_secs = kTimeoutSecs},
         .hooks = {StopAtStepHook({.last_step = std::atoi(argv[2])}), SignalHook({SIGTERM})}});
    loop.track("count", count);
    const RunReport report = loop.run([&](Step& step) {
      if (step.number() == 1) count = 0;
      if ((rank < 0 || group->rank() == rank) && step.number() == step_of_it &&
          !std::exchange(has_happened, true))
        happen(what, group->rank());
      ++count;
    });
    std::printf("rank %d: step %d, count %d, from %d, recoveries %d, exit code %d, %s: %s\n",
                group->rank(), static_cast<int>(report.last_step), static_cast<int>(count),
                static_cast<int>(report.resumed_from.value_or(0)), report.recoveries,
                report.exit_code(), report.stop.who.c_str(), report.stop.reason.c_str());
    code = report.exit_code();
  } catch (const std::exception& error) {
    std::printf("rank %d: %s\n", group->rank(), error.what());
    code = 1;
  }
  std::fflush(stdout);
  return code;
}
