// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "crochet/base/internal/export.h"
#include "crochet/hooks/internal/value_function.h"
#include "crochet/tracking/epochs.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

// What every_epoch() and at_epoch() return.
class CROCHET_EXPORT EveryEpochHook final : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError unless `only`, the epoch after which the function is called, is
  // unset (each) or above 0.
  EveryEpochHook(const EpochOrder& epochs, std::optional<int64_t> only, internal::ValueList values,
                 std::function<void(int64_t epoch, const FetchValues& values)> function);

  // Throws: as resolve_values.
  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  const EpochOrder& epochs_;  // Not owned.
  std::optional<int64_t> only_;
  Fetches values_;
  std::function<void(int64_t, const FetchValues&)> function_;
  int64_t completed_ = 0;
};

// A hook that calls a function with the number of completed epochs and values, after the step that
// completes an epoch: as every(), in a run of their own. Requires: `epochs` outlives the run.
//
//   every_epoch(epochs, "accuracy", [](int64_t epoch, double accuracy) { ... })
template <typename Function>
EveryEpochHook every_epoch(const EpochOrder& epochs, internal::ValueList values,
                           Function function) {
  return EveryEpochHook(epochs, {}, values,
                        internal::value_function<Function, int64_t>(std::move(function), values));
}

// The same, but called once, after the step that completes this epoch: 1 is the first. A run that
// was resumed from a later step does not call it.
//
//   at_epoch(epochs, 10, "accuracy", [](int64_t epoch, double accuracy) { ... })
template <typename Function>
EveryEpochHook at_epoch(const EpochOrder& epochs, int64_t epoch, internal::ValueList values,
                        Function function) {
  return EveryEpochHook(epochs, epoch, values,
                        internal::value_function<Function, int64_t>(std::move(function), values));
}

}  // namespace crochet::inline v0
