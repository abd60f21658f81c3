// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/hooks/internal/periodic_hook.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0 {

namespace internal {
class ProgramValues;
}  // namespace internal

struct WeightAveragingOptions {
  // Which values are averaged, by their names in checkpoints: "model", "net/*". Among them those
  // with floating-point elements; others stay as they are.
  NamePatterns values = false;
  // After each update, average = decay * average + (1 - decay) * value.
  double decay = 0.999;
  // The decay of the n-th update, from 0 on, is at most (1 + n) / (10 + n), so that the first
  // values are soon forgotten; as with num_updates of TensorFlow's ExponentialMovingAverage.
  bool warm_up = false;
  // How often the averages are updated.
  int64_t every_n_steps = 1;
};

// Exponential moving averages of weights, which often are better than the weights themselves. Saved
// with the run, and put in their place for an evaluation, or for a file of weights:
//
//   const auto averaging =
//       std::make_shared<WeightAveraging>(WeightAveragingOptions{.values = {"model"}});
//   Loop loop({.hooks = {averaging,
//                        EvaluationHook({.every_n_steps = 500, .evaluate = [&] {
//                          return averaging->with_averages([&] { return evaluate(model); });
//                        }})}});
//   loop.run([&] { ... });
//   averaging->with_averages([&] { write_weights(model, "model.safetensors"); });
//
// An update reads the values as a checkpoint does, and needs memory for a copy of them. Averages of
// half and bfloat16 are kept as float32.
class CROCHET_EXPORT WeightAveraging final : public internal::PeriodicHook {
 public:
  // Throws: InvalidArgumentError for options that are out of range, and without `values`.
  explicit WeightAveraging(WeightAveragingOptions options);
  ~WeightAveraging() override;
  WeightAveraging(WeightAveraging&&) noexcept;
  WeightAveraging& operator=(WeightAveraging&&) = delete;

  // Calls `function` while the values are the averages; afterwards they are as before, bit for bit.
  // Returns what it returns. For evaluations, hooks, and after the run as long as its Loop exists,
  // with all that it tracks.
  //
  // Throws: what `function` throws; FailedPreconditionError before the first session, within a
  // step, within itself, and after the run of an engine other than the local one.
  template <std::invocable<> Function>
  std::invoke_result_t<Function&> with_averages(Function&& function) {
    return call_with_averages(nullptr, function);
  }
  // The same in the session that a hook or an evaluation was given: also in end() of a hook, for
  // every engine.
  template <std::invocable<> Function>
  std::invoke_result_t<Function&> with_averages(Session& session, Function&& function) {
    return call_with_averages(&session, function);
  }

  // By the names of the values.
  const TensorMap& averages() const { return averages_; }
  // Of the whole run, over all its processes.
  int64_t num_updates() const { return num_updates_; }

  void begin(Graph& graph) override;
  // Throws: InvalidArgumentError if nothing has such a name, or ranks have different parts of what
  // has.
  void after_create_session(Session& session, Coordinator& coordinator) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void end(Session& session) override;
  void on_error(std::exception_ptr error) override;
  SaveableMap saveables() override;

 private:
  // Exists as long as the graph.
  struct GraphMark {
    Graph& graph;
  };

  void look(int64_t step, const FetchValues& values, SessionRunContext& context) override;
  // Moves the averages by this part of the way towards the values. What has no average yet, or one
  // of another shape, begins with the value.
  void update(Session& session, double part);
  // `given` is null for the run's session, or one of its own after the run.
  void replace_values(Session* given, const std::function<void()>& function);
  template <typename Function>
  std::invoke_result_t<Function&> call_with_averages(Session* session, Function& function) {
    if constexpr (std::is_void_v<std::invoke_result_t<Function&>>) {
      replace_values(session, [&] { function(); });
    } else {
      std::optional<std::invoke_result_t<Function&>> result;
      replace_values(session, [&] { result.emplace(function()); });
      return *std::move(result);
    }
  }

  const WeightAveragingOptions options_;
  std::weak_ptr<GraphMark> graph_;
  Session* session_ = nullptr;  // Not owned.
  std::unique_ptr<internal::ProgramValues> values_;
  TensorMap averages_;
  int64_t num_updates_ = 0;
  bool is_restored_ = false;
  bool is_replaced_ = false;  // The values are the averages.
};

}  // namespace crochet::inline v0
