// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <array>

namespace crochet::tool {

// While one exists, the first SIGINT, SIGTERM or SIGHUP is only recorded (pending_signal()), so
// that a command that is writing files can remove them and end. A second one ends the program at
// once; ignored signals stay ignored. Requires: only one exists at a time.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> previous_ = {};
};

}  // namespace crochet::tool
