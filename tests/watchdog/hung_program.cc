// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A training that hangs in a function that the test names. argv: the directory, the command
// crochet, how it hangs (deadlock, loop, read, rank, random, none), and warn, stop or abort. Ranks
// find each other as torchrun's do.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "crochet/crochet.h"
#include "crochet/hooks/guards/watchdog_hook.h"

namespace {

std::mutex first;
std::atomic<int> forever = 1;

[[gnu::noinline]] void wait_in_deadlock() {
  std::unique_lock held(first);
  std::thread other([] {
    const std::lock_guard never(first);
    forever = 0;
  });
  other.join();
}

[[gnu::noinline]] void loop_without_end() {
  while (true) asm volatile("");
}

// As from a file system that is gone.
[[gnu::noinline]] void read_without_end() {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  char byte = 0;
  if (::read(ends[0], &byte, 1) == 1) forever = 0;
}

// The helper measures real time, so steps take some.
[[gnu::noinline]] void work() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

// As in a container that forbids it.
void forbid_ptrace() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter = {.len = 4, .filter = code};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
    std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const std::string mode = argv[3];
  const std::string action = argv[4];
  if (std::getenv("FORBID_PTRACE") != nullptr) forbid_ptrace();
  crochet::LoopOptions options{.checkpoint = {.dir = argv[1], .every_steps = 1000}};
  if (mode == "rank") options.ranks.group = crochet::join_group();
  const double limit = mode == "random" ? 0.4 : 0.6;
  options.hooks = {
      crochet::SignalHook({SIGTERM}),
      crochet::WatchdogHook({.min_step_secs = limit,
                             .action = action == "stop"    ? crochet::HungAction::kStop
                                       : action == "abort" ? crochet::HungAction::kAbort
                                                           : crochet::HungAction::kWarn,
                             .dir = argv[1],
                             .values = {"loss"},
                             .helper = argv[2]}),
      crochet::StopAtStepHook({.last_step = mode == "random" ? 10'000 : 400})};
  std::mt19937_64 random(7);
  double x = 0;
  crochet::Loop loop(std::move(options));
  loop.track("x", x);
  loop.scalar("loss", [&] { return x / 2; });
  loop.run([&](crochet::Step& step) {
    x += 1;
    if (mode == "random") {
      // Most are short, some a hundred times as long.
      const auto micros = random() % 100 == 0 ? random() % 60'000 : random() % 600;
      std::this_thread::sleep_for(std::chrono::microseconds(micros));
      return;
    }
    work();
    if (step.number() != 100) return;
    if (mode == "deadlock") wait_in_deadlock();
    if (mode == "loop") loop_without_end();
    if (mode == "read") read_without_end();
  });
  std::puts("ended");
}
