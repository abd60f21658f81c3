// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/default_hooks.h"

#include <algorithm>

#include <fmt/format.h>

#include "crochet/base/check_number.h"
#include "crochet/base/error.h"
#include "crochet/base/internal/rehearsal.h"
#include "crochet/hooks/async_checkpoint_saver_hook.h"
#include "crochet/hooks/internal/rank_saves.h"
#include "crochet/hooks/internal/rehearsal_hook.h"
#include "crochet/hooks/metric_source.h"
#include "crochet/hooks/step_counter_hook.h"
#include "crochet/hooks/summary_saver_hook.h"
#include "crochet/session/rank_state.h"

namespace crochet::inline v0::internal {
namespace {

constexpr double kSaveCheckpointSecs = 600;
constexpr int64_t kSaveSummariesSteps = 100;
// Fast loops would fill the screen otherwise.
constexpr double kMinLogSecs = 10;
constexpr int64_t kLogStepCountSteps = 100;

template <typename T>
std::optional<T> unless_off(const std::optional<T>& interval) {
  return interval && *interval == 0 ? std::nullopt : interval;
}

// Of the options `<name>_steps` and `<name>_secs`.
void check_interval(const std::string& name, const std::optional<int64_t>& steps,
                    const std::optional<double>& secs) {
  check_at_least(name + "_steps", steps, 0);
  check_at_least(name + "_secs", secs, 0);
  if (unless_off(steps) && unless_off(secs))
    throw InvalidArgumentError(
        fmt::format("{0}_steps is {1} and {0}_secs is {2}: at most one of them may be given", name,
                    *steps, *secs));
}

// Null if there is no directory for it.
std::shared_ptr<SummaryWriter> summary_writer(const MonitoredTrainingSessionOptions& options) {
  const std::string& directory =
      options.summary_dir.empty() ? options.checkpoint_dir : options.summary_dir;
  if (directory.empty()) return nullptr;
  return SummaryWriter::for_directory(directory,
                                      options.files ? *options.files : FileSystem::posix(),
                                      options.clock ? *options.clock : Clock::real());
}

void add_summary_hooks(const MonitoredTrainingSessionOptions& options,
                       const std::shared_ptr<Scaffold>& scaffold, HookList& hooks) {
  const auto writer = summary_writer(options);
  if (!writer) return;
  std::optional<int64_t> count_steps = options.log_step_count_steps;
  if (!count_steps && !options.log_step_count_secs) count_steps = kLogStepCountSteps;
  const std::optional<double> count_secs = unless_off(options.log_step_count_secs);
  count_steps = unless_off(count_steps);
  if (count_steps || count_secs)
    hooks.emplace_back(StepCounterHook({.every_n_steps = count_steps,
                                        .every_n_secs = count_secs,
                                        .summary_writer = writer,
                                        .min_log_secs = kMinLogSecs,
                                        .clock = options.clock}));
  std::optional<int64_t> steps = options.save_summaries_steps;
  if (!steps && !options.save_summaries_secs) steps = kSaveSummariesSteps;
  const std::optional<double> secs = unless_off(options.save_summaries_secs);
  steps = unless_off(steps);
  if (!steps && !secs) return;
  hooks.emplace_back(SummarySaverHook({.save_steps = steps,
                                       .save_secs = secs,
                                       .summary_writer = writer,
                                       .scaffold = scaffold,
                                       .at_end = options.save_summaries_at_end,
                                       .clock = options.clock}));
}

// A rehearsal ends the process soon after its save, which therefore is not left to a thread.
std::shared_ptr<CheckpointSaverHook> new_saver(CheckpointSaverHookOptions options,
                                               bool is_rehearsal) {
  if (is_rehearsal) return std::make_shared<CheckpointSaverHook>(std::move(options));
  return std::make_shared<AsyncCheckpointSaverHook>(std::move(options));
}

std::shared_ptr<CheckpointSaverHook> make_saver(const MonitoredTrainingSessionOptions& options,
                                                const std::shared_ptr<Scaffold>& scaffold,
                                                std::optional<int64_t> steps_per_run,
                                                bool is_rehearsal) {
  std::optional<double> secs = options.save_checkpoint_secs;
  if (!secs && !options.save_checkpoint_steps) secs = kSaveCheckpointSecs;
  secs = unless_off(secs);
  const std::optional<int64_t> steps = unless_off(options.save_checkpoint_steps);
  if (options.checkpoint_dir.empty() || (!secs && !steps)) return nullptr;
  return new_saver({.checkpoint_dir = options.checkpoint_dir,
                    .save_steps = steps,
                    .save_secs = secs,
                    .checkpoint_basename = options.checkpoint_basename,
                    .scaffold = scaffold,
                    .listeners = options.saving_listeners,
                    .metrics = options.checkpoint_metrics,
                    .steps_per_run = steps_per_run,
                    .overlap = options.save_overlap,
                    .on_save_error = options.on_save_error,
                    .lock_directory = options.lock_directory,
                    .deadline_secs = options.deadline_secs,
                    .summary_writer = summary_writer(options),
                    .clock = options.clock},
                   is_rehearsal);
}

}  // namespace

HookList wire_default_hooks(const MonitoredTrainingSessionOptions& options,
                            const std::shared_ptr<Scaffold>& scaffold,
                            const std::shared_ptr<GroupRun>& group_run,
                            std::optional<int64_t> steps_per_run) {
  check_interval("save_checkpoint", options.save_checkpoint_steps, options.save_checkpoint_secs);
  check_interval("save_summaries", options.save_summaries_steps, options.save_summaries_secs);
  check_interval("log_step_count", options.log_step_count_steps, options.log_step_count_secs);
  check_metrics("checkpoint_metrics", options.checkpoint_metrics);
  HookList hooks;
  std::shared_ptr<CheckpointSaverHook> saver;
  const std::optional<Rehearsal> rehearsal = requested_rehearsal();
  const bool is_chief = options.group ? options.group->is_chief() : options.is_chief;
  if (is_chief) {
    hooks = options.chief_only_hooks;
    add_summary_hooks(options, scaffold, hooks);
    saver = make_saver(options, scaffold, steps_per_run, rehearsal.has_value());
    if (rehearsal) hooks.emplace_back(std::make_shared<RehearsalHook>(*rehearsal));
  }
  // In a cluster, each worker may have its own hooks that write.
  const bool keeps_all = is_chief || !options.group;
  for (const HookHandle& hook : options.hooks)
    if (keeps_all || !hook->is_for_chief()) hooks.push_back(hook);
  if (saver) hooks.emplace_back(saver);
  const auto ranks = RankState::find(options.graph);
  if (options.group && ranks && ranks->is_shared())
    hooks.emplace_back(std::make_shared<RankSavesHook>(group_run, scaffold));
  std::ranges::stable_sort(hooks, {}, [](const HookHandle& hook) { return hook->place(); });
  return hooks;
}

}  // namespace crochet::inline v0::internal
