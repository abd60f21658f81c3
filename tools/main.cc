// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The program `crochet`; docs/command.md is its manual.
#include <signal.h>
#include <unistd.h>

#include <iostream>
#include <ostream>
#include <string>
#include <vector>

#include "tools/output.h"
#include "tools/tool.h"

namespace {

constexpr int kSignalExitBase = 128;  // What shells add to a signal's number.

// What a program does whose output is not wanted any more, unless it was told not to.
int end_by_closed_output(void (*disposition)(int)) {
  if (disposition != SIG_IGN) {
    ::signal(SIGPIPE, SIG_DFL);
    ::raise(SIGPIPE);
  }
  return kSignalExitBase + SIGPIPE;
}

}  // namespace

int main(int argc, char** argv) {
  // A command that is writing a checkpoint shall clean up before it ends.
  void (*const disposition)(int) = ::signal(SIGPIPE, SIG_IGN);
  crochet::tool::DescriptorBuffer buffer(STDOUT_FILENO, "standard output");
  std::ostream out(&buffer);
  out.exceptions(std::ios::badbit);
  try {
    return crochet::tool::run_tool(std::vector<std::string>(argv + 1, argv + argc),
                                   {.out = out, .err = std::cerr});
  } catch (const crochet::tool::OutputClosed&) {
    return end_by_closed_output(disposition);
  }
}
