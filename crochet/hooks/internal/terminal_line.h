// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "crochet/base/log.h"
#include "crochet/hooks/internal/progress_bar.h"

namespace crochet::inline v0::internal {

// What the environment allows on a stream.
struct TerminalTraits {
  bool is_terminal = false;
  bool color = false;    // A terminal with colours, and NO_COLOR (no-color.org) is not set.
  bool unicode = false;  // The locale's characters are UTF-8.
};

TerminalTraits terminal_traits(std::FILE* stream);
// The current width of the terminal in columns; COLUMNS, or 80, if it is unknown.
int terminal_width(std::FILE* stream);

// The last line of a terminal, redrawn in place. While the object exists, log lines are
// printed above it. Whole lines that the program prints itself begin on a line of their own, below
// the line as it was last drawn; it is drawn again below them.
//
// Thread-safe.
class TerminalLine {
 public:
  explicit TerminalLine(std::FILE* stream);
  // Ends the line, so that later output starts on a new one.
  ~TerminalLine();
  TerminalLine(const TerminalLine&) = delete;
  TerminalLine& operator=(const TerminalLine&) = delete;

  void draw(const std::string& text);

 private:
  struct State;
  class Hidden;
  std::shared_ptr<State> state_;  // Shared with the log callback.
  LogCallback previous_log_;
};

}  // namespace crochet::inline v0::internal
