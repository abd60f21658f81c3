// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "crochet/testing/log_capture.h"
#include "crochet/training/coordinator.h"
#include "crochet/training/session_run_hook.h"
#include "tests/support/wait_until.h"

namespace crochet::inline v0 {

// Has a thread that runs until a warning with this text is logged.
class StragglerHook final : public SessionRunHook {
 public:
  StragglerHook(const LogCapture& log, std::string warning)
      : log_(log), warning_(std::move(warning)) {}
  void after_create_session(Session&, Coordinator& coordinator) override {
    coordinator.start_thread("straggler", [&log = log_, warning = warning_] {
      wait_until("a line in the log", [&] { return log.contains(warning); });
    });
  }

 private:
  const LogCapture& log_;
  std::string warning_;
};

}  // namespace crochet::inline v0
