// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crochet/base/internal/rehearsal.h"

namespace crochet::tool {

// A program as `crochet rehearse` starts it: in a directory of its own, its output in a file.
struct RehearsedProgram {
  std::vector<std::string> command = {};  // The program and its arguments.
  std::string directory = {};             // It starts in this one.
  std::string log = {};                   // Standard output and standard error are appended to it.
  // To be killed; unset: to run to its end.
  std::optional<internal::Rehearsal> rehearsal = {};
};

// How it ended. Exactly one is set.
struct ProgramEnd {
  std::optional<int> exit_code = {};
  std::optional<int> signal = {};

  // Killed by SIGKILL, itself or, as shells and launchers report it, a program that it started.
  bool is_killed() const;
};
// "exit code 1", "SIGSEGV".
std::string to_string(const ProgramEnd& end);

// Starts it and waits for its end. Throws: NotFoundError if it cannot be started; the system's
// errors.
ProgramEnd run_program(const RehearsedProgram& program);

}  // namespace crochet::tool
