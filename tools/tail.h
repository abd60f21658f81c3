// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tools/command.h"

namespace crochet::tool {

struct TailOptions {
  std::string directory = ".";
  int64_t lines = 10;
  bool follow = false;
};

// `crochet tail`: prints the last events of a run's journal, a line each, and with `follow` those
// that come, until a signal asks the process to end.
int print_tail(const Context& context, const TailOptions& options);

}  // namespace crochet::tool
