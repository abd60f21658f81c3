// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "crochet/base/export.h"

namespace crochet::inline v0 {

// Why a run should stop, and who requested it.
struct StopRequest {
  std::string who;     // "StopAtStepHook", "the program".
  std::string reason;  // "reached step 2000".
  int signal = 0;      // The signal that caused it, or 0.
};

// The request that stops a monitored session, if there is one: the first, kept through recoveries.
//
// Not thread-safe.
class CROCHET_EXPORT StopState {
 public:
  // Keeps and logs the request, unless there already is one.
  void request_stop(StopRequest request);
  const std::optional<StopRequest>& stop_request() const { return request_; }

 private:
  std::optional<StopRequest> request_;
};

}  // namespace crochet::inline v0
