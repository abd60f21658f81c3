// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/monitored_training_session.h"

#include <memory>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/loop/internal/option_checks.h"
#include "crochet/loop/internal/run_settings.h"
#include "crochet/loop/internal/training_run.h"

namespace crochet::inline v0 {
namespace {

constexpr int64_t kSummarySteps = 100;

// The options by their names in a Loop.
internal::TrainingRun run_of(const MonitoredTrainingSessionOptions& options,
                             std::shared_ptr<internal::RunAgreement> agreement) {
  internal::TrainingRun run{
      .graph = options.graph,
      .master = options.master,
      .is_chief = options.is_chief,
      .checkpoint = {.dir = options.checkpoint_dir,
                     .basename = options.checkpoint_basename,
                     .every_steps = options.save_checkpoint_steps,
                     .every_secs = options.save_checkpoint_secs,
                     .listeners = options.saving_listeners,
                     .saving = options.saving,
                     .saver = options.saver},
      .summaries = {.dir = options.summary_dir,
                    .every_steps = options.save_summaries_steps,
                    .every_secs = options.save_summaries_secs,
                    .count_every_steps = options.log_step_count_steps.value_or(kSummarySteps)},
      .agreement = std::move(agreement),
      .scaffold = options.scaffold,
      .hooks = options.hooks,
      .chief_only_hooks = options.chief_only_hooks,
      .config = options.config,
      .max_wait_secs = options.max_wait_secs,
      .recovery_wait_secs = options.recovery_wait_secs,
      .max_recoveries = options.max_recoveries,
      .can_recover = options.can_recover,
      .ending = {.stop_grace_period_secs = options.stop_grace_period_secs,
                 .continue_finished = true},
      .files = options.files,
      .clock = options.clock,
      .options = internal::changed_options(options)};
  if (!run.summaries.every_steps && !run.summaries.every_secs)
    run.summaries.every_steps = kSummarySteps;
  return run;
}

}  // namespace

void check_options(const MonitoredTrainingSessionOptions& options) {
  internal::check_interval("save_checkpoint_steps", options.save_checkpoint_steps,
                           "save_checkpoint_secs", options.save_checkpoint_secs);
  internal::check_interval("save_summaries_steps", options.save_summaries_steps,
                           "save_summaries_secs", options.save_summaries_secs);
  internal::check_at_least("log_step_count_steps", options.log_step_count_steps, 0);
  internal::check_options(options.saving, "saving");
  internal::check_options(options.ranks, "ranks");
  internal::check_at_least("max_recoveries", options.max_recoveries, 0);
  internal::check_at_least("stop_grace_period_secs", options.stop_grace_period_secs, 0);
  internal::check_at_least("max_wait_secs", options.max_wait_secs, 0);
  internal::check_above("recovery_wait_secs", options.recovery_wait_secs, 0);
  if (options.ranks.group && !options.is_chief)
    throw InvalidArgumentError(
        "is_chief is false, expected true with a group: rank 0 of the group is the chief");
}

RunReport train(const MonitoredTrainingSessionOptions& options,
                const std::function<void(MonitoredSession& session)>& body) {
  const auto agreement = internal::agreement_for(options.ranks, options.graph);
  return agreement->as_rank([&] {
    check_options(options);
    return internal::train(run_of(options, agreement), body);
  });
}

}  // namespace crochet::inline v0
