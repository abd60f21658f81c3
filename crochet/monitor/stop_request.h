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

  // From now on, a request is only a wish, until it is granted: the ranks of a group stop together.
  void hold() { is_held_ = true; }
  const std::optional<StopRequest>& wish() const { return wish_; }
  // Makes this the request, unless there already is one.
  void grant(StopRequest request);

 private:
  std::optional<StopRequest> request_;
  std::optional<StopRequest> wish_;
  bool is_held_ = false;
};

}  // namespace crochet::inline v0
