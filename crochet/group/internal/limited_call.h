// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "crochet/base/internal/export.h"
#include "crochet/group/group.h"

namespace crochet::inline v0::internal {

// Runs `work` on a thread of its own, and returns once it has ended.
// Throws: ResourceExhaustedError if there is no thread; DeadlineExceededError, which names the
// activity, once the limit is over. The thread then continues by itself, perhaps forever: `work`
// must own all that it uses.
CROCHET_EXPORT void run_within(WaitLimit& limit, const std::string& activity,
                               std::function<void()> work);

// Calls `call`, which may block without a limit of its own. Returns or throws what it does.
// Throws: what run_within() does. Requires: `call` owns all that it uses.
template <typename Call>
auto call_within(WaitLimit& limit, const std::string& activity, Call call) {
  using Result = decltype(call());
  struct Outcome {
    std::optional<Result> result;
    std::exception_ptr error;
  };
  const auto outcome = std::make_shared<Outcome>();
  run_within(limit, activity, [outcome, call = std::move(call)]() mutable {
    try {
      outcome->result.emplace(call());
    } catch (...) {
      outcome->error = std::current_exception();
    }
  });
  if (outcome->error) std::rethrow_exception(outcome->error);
  return *std::move(outcome->result);
}

}  // namespace crochet::inline v0::internal
