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

#include "crochet/base/pending_signal.h"
#ifdef CROCHET_TOOL_READS_STORES
#include "crochet/cloud/files.h"
#endif
#include "crochet/io/file_system.h"
#include "tools/output.h"
#include "tools/tool.h"

namespace {

constexpr int kSignalExitBase = 128;  // Shells add it to a signal's number.

// Ends the process as the signal's default action does.
int end_by_signal(int signal) {
  ::signal(signal, SIG_DFL);
  ::raise(signal);
  return kSignalExitBase + signal;
}

// The files that commands see.
crochet::FileSystem& files() {
#ifdef CROCHET_TOOL_READS_STORES
  return crochet::cloud::files();
#else
  return crochet::FileSystem::posix();
#endif
}

}  // namespace

int main(int argc, char** argv) {
  // Ignored, so that a command that is writing a checkpoint can clean up before it ends.
  void (*const disposition)(int) = ::signal(SIGPIPE, SIG_IGN);
  crochet::tool::DescriptorBuffer buffer(STDOUT_FILENO, "standard output");
  std::ostream out(&buffer);
  out.exceptions(std::ios::badbit);
  try {
    const int code = crochet::tool::run_tool(std::vector<std::string>(argv + 1, argv + argc),
                                             {.out = out, .err = std::cerr}, files());
    return crochet::pending_signal() == 0 ? code : end_by_signal(crochet::pending_signal());
  } catch (const crochet::tool::OutputClosed&) {
    return disposition == SIG_IGN ? kSignalExitBase + SIGPIPE : end_by_signal(SIGPIPE);
  }
}
