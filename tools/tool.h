// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/io/file_system.h"

namespace crochet::tool {

// The exit codes of the program.
inline constexpr int kSuccess = 0;
// The answer is no: something is damaged, differs, or is missing.
inline constexpr int kNegative = 1;
// There is no answer: a wrong command line, a file that cannot be read or written.
inline constexpr int kTrouble = 2;

struct Streams {
  std::ostream& out;  // Results only.
  std::ostream& err;  // "crochet: <what>: <why>", a line each.
};

// Runs the program `crochet` with these arguments (without its name) and returns its exit code.
// The library's warnings and errors go to `err` while it runs.
// Throws: OutputClosed (output.h); nothing else.
int run_tool(const std::vector<std::string>& arguments, const Streams& streams,
             FileSystem& files = FileSystem::posix(), Clock& clock = Clock::real());

}  // namespace crochet::tool
