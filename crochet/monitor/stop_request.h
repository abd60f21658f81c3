// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace crochet::inline v0 {

// Why a run should stop, and who requested it.
struct StopRequest {
  std::string who;     // "StopAtStepHook", "the program".
  std::string reason;  // "step 2000 is reached".
  int signal = 0;      // The signal that caused it, or 0.
};

}  // namespace crochet::inline v0
