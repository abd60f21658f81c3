// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <functional>

namespace crochet::inline v0 {

// A process that waits longer is killed by SIGALRM.
inline constexpr unsigned kForkedChildSeconds = 60;

// Waits for a child. Returns its exit code, or minus the signal that killed it.
inline int wait_for_child(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// Forks a child that runs `body` and exits, without static destructors, with the code that it
// returns, or, after an exception, with 99 and a line on stderr.
inline pid_t fork_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(kForkedChildSeconds);
  int code = 99;
  try {
    code = body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "in the child: %s\n", error.what());
  }
  ::_exit(code);
}

// The same; waits for the child and returns its exit code.
inline int run_in_child(const std::function<int()>& body) {
  return wait_for_child(fork_child(body));
}

}  // namespace crochet::inline v0
