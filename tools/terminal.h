// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <termios.h>

#include <chrono>
#include <string>
#include <vector>

#include "tools/watch_screen.h"

namespace crochet::tool {

enum class Key { kNone, kOther, kUp, kDown, kPageUp, kPageDown, kQuit };

// The terminal at standard input and output, as a screen of its own while one exists: what was
// there before is there again afterwards, also after a signal that SignalGuard catches.
class Terminal {
 public:
  // True if both are a terminal.
  static bool is_there();
  // COLUMNS by LINES, or 80 by 24.
  static ScreenSize size_from_environment();

  // Throws: the system's error. Requires: is_there().
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Now: it changes when the user resizes the window.
  ScreenSize size() const;
  // Requires: printable lines.
  void draw(const std::vector<std::string>& lines);
  // kNone at that time, or at a signal; kOther also when the size has changed.
  Key wait_for_key(std::chrono::steady_clock::time_point until);

 private:
  termios before_ = {};
  ScreenSize drawn_ = {.columns = 0, .rows = 0};
};

}  // namespace crochet::tool
