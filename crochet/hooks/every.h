// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "crochet/base/internal/export.h"
#include "crochet/hooks/internal/periodic_hook.h"
#include "crochet/hooks/internal/value_function.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

// Exactly one of the two is set.
struct EveryOptions {
  // For 100: after the steps 100, 200, 300, whatever step the run was resumed from.
  std::optional<int64_t> steps = {};
  // Counted from the last call, or from the creation of the session.
  std::optional<double> secs = {};
  // The machine's if null. Not owned.
  Clock* clock = nullptr;
};

// What every() and at() return.
class CROCHET_EXPORT EveryHook final : public internal::PeriodicHook {
 public:
  // Throws: InvalidArgumentError unless exactly one interval is set, and above 0.
  EveryHook(const EveryOptions& options, internal::ValueList values,
            std::function<void(int64_t step, const FetchValues& values)> function);

 private:
  // Throws: what the function throws, and InvalidArgumentError for a value its parameters
  // cannot take.
  void look(int64_t step, const FetchValues& values, SessionRunContext& context) override;

  std::function<void(int64_t, const FetchValues&)> function_;
};

// What at_end() returns.
class CROCHET_EXPORT AtEndHook final : public SessionRunHook {
 public:
  AtEndHook(internal::ValueList values, std::function<void(const FetchValues& values)> function);

  void begin(Graph& graph) override;
  void end(Session& session) override;

 private:
  Fetches values_;
  std::function<void(const FetchValues&)> function_;
};

// A hook that periodically calls a function with the number of completed steps and values.
//
//   every({.steps = 100}, "loss", [](int64_t step, float loss) { ... })
//   every({.secs = 60}, {"loss", "rate"}, [](int64_t step, float loss, double rate) { ... })
//
// The types of the function's parameters decide how tensors are converted: numbers, std::vectors of
// numbers, Tensor, or std::optional of one. The function is not called while a value is unset,
// unless its parameter is an optional or a Tensor. Values are computed only in the steps in which
// they are due. Throws: InvalidArgumentError unless the function takes as many values as are given.
template <typename Function>
EveryHook every(const EveryOptions& options, internal::ValueList values, Function function) {
  return EveryHook(options, values,
                   internal::value_function<Function, int64_t>(std::move(function), values));
}

namespace internal {

// `function` for the first call only: at `step`, or in the run that passes it, if it is set.
CROCHET_EXPORT std::function<void(int64_t step, const FetchValues& values)> only_at(
    std::optional<int64_t> step,
    std::function<void(int64_t step, const FetchValues& values)> function);

}  // namespace internal

// The same, but called once in a process: after this step, or these seconds after the creation of
// the session. A run that was resumed from that step or a later one does not call it.
//
//   at({.steps = 1000}, "loss", [](int64_t step, float loss) { ... })
template <typename Function>
EveryHook at(const EveryOptions& options, internal::ValueList values, Function function) {
  return EveryHook(options, values,
                   internal::only_at(options.steps, internal::value_function<Function, int64_t>(
                                                        std::move(function), values)));
}

// A hook that calls a function with values, once, at the clean end of the run.
//
//   at_end("accuracy", [](float accuracy) { ... })
//
// Converts and throws as every() does. Like FinalOpsHook, it evaluates nothing if a signal asks
// the process to end.
template <typename Function>
AtEndHook at_end(internal::ValueList values, Function function) {
  return AtEndHook(values, internal::value_function<Function>(std::move(function), values));
}

}  // namespace crochet::inline v0
