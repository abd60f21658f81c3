// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/internal/default_hooks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/internal/rehearsal.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/hooks/internal/control_hook.h"
#include "crochet/hooks/internal/deadline_hook.h"
#include "crochet/hooks/internal/fast_saves_hook.h"
#include "crochet/hooks/internal/hyperparameters_hook.h"
#include "crochet/hooks/internal/rank_saves_hook.h"
#include "crochet/hooks/internal/rehearsal_hook.h"
#include "crochet/hooks/internal/save_interval.h"
#include "crochet/hooks/metric_source.h"
#include "crochet/hooks/step_counter_hook.h"
#include "crochet/hooks/summary_saver_hook.h"

namespace crochet::inline v0::internal {
namespace {

constexpr double kCheckpointSecs = 600;
constexpr double kFastSecs = 30;
// By time, since steps may take microseconds or minutes.
constexpr double kCurvesSecs = 2;
// Fast loops would fill the screen otherwise.
constexpr double kMinLogSecs = 10;

struct Interval {
  std::optional<int64_t> steps;
  std::optional<double> secs;
};

// Neither if it is off.
Interval interval_of(Interval given, double default_secs) {
  if (!given.steps && !given.secs) given.secs = default_secs;
  if (given.steps == 0) given.steps.reset();
  if (given.secs == 0) given.secs.reset();
  return given;
}

// Null if there is no directory for it.
std::shared_ptr<SummaryWriter> summary_writer(const TrainingRun& run) {
  const std::string& directory = run.summaries.dir.empty() ? run.checkpoint.dir : run.summaries.dir;
  if (directory.empty()) return nullptr;
  return SummaryWriter::for_directory(directory, FileSystem::or_posix(run.files),
                                      Clock::or_real(run.clock));
}

void add_summary_hooks(const TrainingRun& run, const std::shared_ptr<Scaffold>& scaffold,
                       HookList& hooks) {
  const auto writer = summary_writer(run);
  if (!writer) return;
  if (!run.hyperparameters.empty()) {
    std::vector<Hyperparameter> all = run.hyperparameters;
    for (const Hyperparameter& option : run.options) all.push_back(option);
    hooks.emplace_back(std::make_shared<HyperparametersHook>(std::move(all), writer));
  }
  const SummaryOptions& options = run.summaries;
  const auto [count_steps, count_secs] =
      interval_of({options.count_every_steps, options.count_every_secs}, kCurvesSecs);
  if (count_steps || count_secs)
    hooks.emplace_back(StepCounterHook({.every_n_steps = count_steps,
                                        .every_n_secs = count_secs,
                                        .summary_writer = writer,
                                        .min_log_secs = kMinLogSecs,
                                        .clock = run.clock}));
  const auto [steps, secs] = interval_of({options.every_steps, options.every_secs}, kCurvesSecs);
  if (!steps && !secs) return;
  hooks.emplace_back(SummarySaverHook({.save_steps = steps,
                                       .save_secs = secs,
                                       .summary_writer = writer,
                                       .scaffold = scaffold,
                                       .at_end = run.has_last_summaries,
                                       .clock = run.clock}));
}

// A rehearsal ends the process soon after its save, which therefore is not left to a thread.
std::shared_ptr<CheckpointSaverHook> new_saver(CheckpointSaverHookOptions options,
                                               bool is_rehearsal) {
  if (is_rehearsal) return std::make_shared<CheckpointSaverHook>(std::move(options));
  return std::make_shared<AsyncCheckpointSaverHook>(std::move(options));
}

std::shared_ptr<CheckpointSaverHook> make_saver(
    const TrainingRun& run, const std::shared_ptr<Scaffold>& scaffold, bool is_rehearsal,
    const std::shared_ptr<CheckpointSaverListener>& control) {
  const CheckpointOptions& options = run.checkpoint;
  const bool is_chosen = interval_rule(options).is_set();
  const auto [steps, secs] =
      is_chosen ? Interval{}
                : interval_of({options.every_steps, options.every_secs}, kCheckpointSecs);
  if (options.dir.empty() || (!secs && !steps && !is_chosen)) return nullptr;
  std::vector<std::shared_ptr<CheckpointSaverListener>> listeners = options.listeners;
  if (control) listeners.push_back(control);
  return new_saver({.checkpoint_dir = options.dir,
                    .save_steps = steps,
                    .save_secs = secs,
                    .budget_percent = options.budget_percent,
                    .mean_secs_between_failures = options.mean_secs_between_failures,
                    .checkpoint_basename = options.basename,
                    .scaffold = scaffold,
                    .listeners = std::move(listeners),
                    .saving = options.saving,
                    .steps_per_run = run.steps_per_run,
                    .summary_writer = summary_writer(run),
                    .clock = run.clock},
                   is_rehearsal);
}

// After the saver, which has saved the last step when this one ends.
void add_fast_saves(const TrainingRun& run, const std::shared_ptr<Scaffold>& scaffold,
                    HookList& hooks) {
  const CheckpointOptions& options = run.checkpoint;
  const auto [steps, secs] =
      interval_of({options.fast_every_steps, options.fast_every_secs}, kFastSecs);
  if (options.fast_dir.empty() || (!steps && !secs)) return;
  hooks.emplace_back(
      std::make_shared<FastSavesHook>(FastSavesHookOptions{.checkpoint_dir = options.dir,
                                                           .basename = options.basename,
                                                           .fast_dir = options.fast_dir,
                                                           .saver = scaffold->saver,
                                                           .save_steps = steps,
                                                           .save_secs = secs,
                                                           .overlap = options.saving.overlap,
                                                           .steps_per_run = run.steps_per_run,
                                                           .clock = run.clock}));
}

void add_deadline(const TrainingRun& run, HookList& hooks) {
  const std::optional<double> at = run.ending.deadline ? run.ending.deadline : slurm_end_time();
  if (at && *at != 0) hooks.emplace_back(DeadlineHook(*at, Clock::or_real(run.clock)));
}

}  // namespace

HookList wire_default_hooks(const TrainingRun& run, const std::shared_ptr<Scaffold>& scaffold) {
  HookList hooks;
  std::shared_ptr<CheckpointSaverHook> saver;
  const std::optional<Rehearsal> rehearsal = requested_rehearsal();
  const bool is_chief = run.is_chief && run.agreement->is_chief();
  if (is_chief) {
    hooks = run.chief_only_hooks;
    add_summary_hooks(run, scaffold, hooks);
    add_deadline(run, hooks);
    std::shared_ptr<ControlHook> control;
    if (!run.checkpoint.dir.empty()) {
      FileSystem& files = FileSystem::or_posix(run.files);
      control = std::make_shared<ControlHook>(run.checkpoint.dir, files, Clock::or_real(run.clock),
                                              Journal::find(run.checkpoint.dir, files));
      hooks.emplace_back(control);
    }
    saver =
        make_saver(run, scaffold, rehearsal.has_value(), control ? control->listener() : nullptr);
    if (rehearsal) hooks.emplace_back(std::make_shared<RehearsalHook>(*rehearsal));
  }
  // In a cluster, each worker may have its own hooks that write.
  const bool keeps_all = is_chief || run.agreement->is_alone();
  for (const HookHandle& hook : run.hooks)
    if (keeps_all || !hook->is_for_chief()) hooks.push_back(hook);
  if (saver) {
    hooks.emplace_back(saver);
    if (!rehearsal) add_fast_saves(run, scaffold, hooks);
  }
  if (run.agreement->shares_state())
    hooks.emplace_back(std::make_shared<RankSavesHook>(run.agreement, scaffold));
  std::ranges::stable_sort(hooks, {}, [](const HookHandle& hook) { return hook->place(); });
  return hooks;
}

}  // namespace crochet::inline v0::internal
