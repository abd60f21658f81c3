// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/session/saveable.h"

namespace crochet::inline v0 {

// A number, such as a learning rate, that depends on the step. What follows has the formulas of the
// schedulers of PyTorch's torch.optim.lr_scheduler; see docs/loop.md for which is which.
//
//   CosineSchedule learning_rate({.initial = 1e-3, .steps = 2000, .warm_up = 100});
//   loop.track("learning_rate", learning_rate);
//   loop.run([&](Step& step) { train_on(batch, learning_rate.at(step.number())); });
//
// All but PlateauSchedule are functions of the step alone, so that resuming is exact. Tracked, they
// store their options in checkpoints: if a program has other ones, it logs that and uses its own.
class CROCHET_EXPORT Schedule {
 public:
  virtual ~Schedule() = default;

  // The value for a step, counted from 1 as Step::number() does: at(1) is PyTorch's first value.
  // Counts epochs if it is given numbers of epochs.
  double at(int64_t step) const;

  virtual TensorMap save() const;
  virtual void restore(const TensorMap& state);

 protected:
  // The first `warm_up` steps rise in equal parts from `from` times the initial value to 1 times.
  struct WarmUp {
    int64_t steps;
    double from;
  };
  // `parameters`: all options, as they are stored.
  // Throws: InvalidArgumentError for an initial value that is not finite, or an impossible warm-up.
  Schedule(double initial, WarmUp warm_up, std::vector<double> parameters);
  Schedule(const Schedule&) = default;
  Schedule& operator=(const Schedule&) = default;

  double initial() const { return initial_; }
  const std::vector<double>& parameters() const { return parameters_; }
  // Logs that the stored options, the first ones of `stored`, differ from these. True if they do.
  bool record_changes(const std::vector<double>& stored) const;

 private:
  // The value `steps` steps after the warm-up, from 0.
  virtual double after_warm_up(int64_t steps) const = 0;

  double initial_;
  WarmUp warm_up_;
  std::vector<double> parameters_;
};

// Of all schedules: `initial` is the value after the warm-up, which takes the first `warm_up` steps
// and begins at `warm_up_from` times `initial`. Without other options it stays there.

struct StepScheduleOptions {
  double initial = 0;
  // The value is multiplied by `gamma` every `step_size` steps.
  int64_t step_size = 0;
  double gamma = 0.1;
  int64_t warm_up = 0;
  double warm_up_from = 0;
};

class CROCHET_EXPORT StepSchedule final : public Schedule {
 public:
  // Throws: InvalidArgumentError for a step_size below 1; as Schedule.
  explicit StepSchedule(const StepScheduleOptions& options);

 private:
  double after_warm_up(int64_t steps) const override;
  StepScheduleOptions options_;
};

struct MultiStepScheduleOptions {
  double initial = 0;
  // The value is multiplied by `gamma` after each of these numbers of steps, which ascend.
  std::vector<int64_t> milestones = {};
  double gamma = 0.1;
  int64_t warm_up = 0;
  double warm_up_from = 0;
};

class CROCHET_EXPORT MultiStepSchedule final : public Schedule {
 public:
  // Throws: InvalidArgumentError for milestones that do not ascend; as Schedule.
  explicit MultiStepSchedule(const MultiStepScheduleOptions& options);

 private:
  double after_warm_up(int64_t steps) const override;
  MultiStepScheduleOptions options_;
};

struct ExponentialScheduleOptions {
  double initial = 0;
  // The value is multiplied by `gamma` in every step.
  double gamma = 0;
  int64_t warm_up = 0;
  double warm_up_from = 0;
};

class CROCHET_EXPORT ExponentialSchedule final : public Schedule {
 public:
  explicit ExponentialSchedule(const ExponentialScheduleOptions& options);

 private:
  double after_warm_up(int64_t steps) const override;
  ExponentialScheduleOptions options_;
};

struct CosineScheduleOptions {
  double initial = 0;
  // The steps in which the value falls to `minimum`, the warm-up included; it then stays there.
  int64_t steps = 0;
  double minimum = 0;
  int64_t warm_up = 0;
  double warm_up_from = 0;
};

class CROCHET_EXPORT CosineSchedule final : public Schedule {
 public:
  // Throws: InvalidArgumentError unless `steps` is more than `warm_up`; as Schedule.
  explicit CosineSchedule(const CosineScheduleOptions& options);

 private:
  double after_warm_up(int64_t steps) const override;
  CosineScheduleOptions options_;
};

// PyTorch's names and defaults.
struct PlateauScheduleOptions {
  enum class Mode { kMin, kMax };

  double initial = 0;
  // Whether a better metric is a lower or a higher one.
  Mode mode = Mode::kMin;
  // The value is multiplied by `factor` after more than `patience` metrics that are not better.
  double factor = 0.1;
  int64_t patience = 10;
  // Better by more than this fraction of the best one.
  double threshold = 1e-4;
  // After a reduction, how many metrics are ignored.
  int64_t cooldown = 0;
  double minimum = 0;
  // A smaller reduction is not made.
  double eps = 1e-8;
  int64_t warm_up = 0;
  double warm_up_from = 0;
};

// Falls when a metric no longer improves. Track it: it has a state.
//
//   every({.steps = 1000}, "validation/loss", [&](int64_t, double loss) { rate.observe(loss); })
class CROCHET_EXPORT PlateauSchedule final : public Schedule {
 public:
  // Throws: InvalidArgumentError unless `factor` is in [0, 1); as Schedule.
  explicit PlateauSchedule(const PlateauScheduleOptions& options);

  // PyTorch's step(metric).
  void observe(double metric);
  // The value without the warm-up.
  double value() const { return value_; }

  TensorMap save() const override;
  void restore(const TensorMap& state) override;

 private:
  double after_warm_up(int64_t) const override { return value_; }
  bool is_better(double metric) const;

  PlateauScheduleOptions options_;
  double value_;
  double best_;
  int64_t num_bad_ = 0;
  int64_t cooldown_left_ = 0;
};

}  // namespace crochet::inline v0
