// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/session/fetches.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

namespace internal {
class SpikeDetector;
}  // namespace internal

struct SpikeGuardHookOptions {
  // A value is a spike if it is above the median of the last `window` values by more than `factor`
  // times their median absolute deviation, once there are `min_values`. NaN and infinity always
  // are.
  double factor = 20;
  int64_t window = 100;
  int64_t min_values = 20;
  // How many batches before and after that of the spike are skipped as well.
  int64_t skip_before = 0;
  int64_t skip_after = 0;
  // By what the learning rate is multiplied each time the run goes back.
  double learning_rate_factor = 1;
  // How often the run goes back without getting `window` steps past the last spike, before it ends.
  int64_t max_rollbacks = 3;
};

// Notices a loss that jumps, or is NaN, and has the run go back to a checkpoint from before that
// and continue without the batches that did it. Everything goes back together: the tracked state,
// the position in the data, the curves, and the files that the loop writes.
//
//   const auto guard = std::make_shared<SpikeGuardHook>("loss");
//   Loop loop({.checkpoint = {.dir = "runs/x", .every_steps = 100}, .hooks = {guard}});
//   loop.run([&](Step&) {
//     const auto batch = epochs.next();
//     if (guard->skips_batch()) return LoopAction::kSkip;
//     loss = train(batch, guard->learning_rate_factor() * kLearningRate);
//     return LoopAction::kContinue;
//   });
//
// A body that can tell before it changes anything skips the batch at once, and nothing goes back:
// `if (!guard->accepts(loss)) return LoopAction::kSkip;` between the gradient and its use.
//
// The ranks of a group must watch the same number, such as the mean of their losses.
class CROCHET_EXPORT SpikeGuardHook final : public SessionRunHook {
 public:
  // `loss` is an output or its name: one real number. In steps in which it is unset, nothing is
  // watched. Throws: InvalidArgumentError for options that are out of range.
  explicit SpikeGuardHook(Fetches loss, SpikeGuardHookOptions options = {});
  ~SpikeGuardHook() override;
  SpikeGuardHook(SpikeGuardHook&&) noexcept;
  SpikeGuardHook& operator=(SpikeGuardHook&&) = delete;

  // For the body, once for each batch, before it is used: true if it is to be skipped.
  bool skips_batch();
  // For a body that has the loss of a batch before it changes anything: false for a spike, of a
  // batch that is to be skipped. After 10 in a row, the run goes back.
  bool accepts(double loss);
  // SpikeGuardHookOptions::learning_rate_factor to the power of the number of rollbacks.
  double learning_rate_factor() const;
  // Of the whole run, over all its processes, as far as checkpoints have it.
  int64_t num_rollbacks() const { return num_rollbacks_; }

  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  // Throws: NanLossDuringTrainingError, which ends the run, after max_rollbacks.
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  SaveableMap saveables() override;

 private:
  // The first and the last one.
  using Batches = std::pair<int64_t, int64_t>;

  struct Spike {
    int64_t step;
    double value;
    Batches batches;
  };

  // To which step the run goes back, at the latest, and why.
  struct Rollback {
    int64_t step;
    std::string reason;
  };

  // Throws: see after_run.
  Rollback decide(const Spike& spike);
  TensorMap save() const;
  void restore(const TensorMap& state);

  Fetches loss_;
  const SpikeGuardHookOptions options_;
  std::unique_ptr<internal::SpikeDetector> detector_;
  int64_t num_batches_ = 0;  // For which skips_batch() was called.
  std::vector<Batches> skipped_;
  int64_t num_refused_ = 0;  // By accepts(), in a row.
  int64_t start_ = 0;        // The step at which the session began.
  int64_t step_ = 0;
  int64_t num_rollbacks_ = 0;
  int64_t rollbacks_in_a_row_ = 0;
  int64_t last_spike_step_ = -1;
};

}  // namespace crochet::inline v0
