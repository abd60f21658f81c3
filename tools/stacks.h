// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace crochet::tool {

struct Frame {
  uint64_t address = 0;
  std::string function = {};  // As C++ has it; empty if it is not known.
  std::string place = {};     // "train.cc:42"; empty without debug information.
  std::string module = {};    // The base name of the program or library.
};

struct ThreadStack {
  int64_t thread = 0;
  std::string name = {};
  std::vector<Frame> frames = {};  // The innermost first.
  std::string problem = {};        // Why it ends where it does.
};

// The stacks of all threads of another process, its first thread first. The process is stopped
// meanwhile. Where it may not be traced, `addresses_of(thread)` is asked for a thread's stack.
std::vector<ThreadStack> stacks_of(
    int64_t pid, const std::function<std::vector<uint64_t>(int64_t thread)>& addresses_of);

// A line for each thread and each frame.
std::string to_text(const std::vector<ThreadStack>& stacks);

}  // namespace crochet::tool
