// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/internal/option_checks.h"

#include <algorithm>
#include <vector>

#include <fmt/ranges.h>

#include "crochet/base/internal/check_number.h"
#include "crochet/checkpoint/saver/internal/stored_names.h"
#include "crochet/hooks/internal/save_interval.h"
#include "crochet/hooks/internal/utc_text.h"

namespace crochet::inline v0::internal {
namespace {

// The names of options that are set, with their values where they are numbers.
class Options {
 public:
  void add(const char* name, bool is_set) {
    if (is_set) names_.emplace_back(name);
  }
  // 0 switches an interval off.
  template <typename Number>
  void add(const char* name, const std::optional<Number>& value) {
    if (value && *value != 0) names_.push_back(fmt::format("{} = {}", name, *value));
  }

  void refuse_without(const char* directory) const {
    if (names_.empty()) return;
    const std::vector<std::string> all_but_last(names_.begin(), names_.end() - 1);
    throw InvalidArgumentError(fmt::format("{}{}{} {} no effect without {}",
                                           fmt::join(all_but_last, ", "),
                                           all_but_last.empty() ? "" : " and ", names_.back(),
                                           all_but_last.empty() ? "has" : "have", directory));
  }

 private:
  std::vector<std::string> names_;
};

// The checkpoint options that are set, apart from the directory.
Options set_options(const LoopOptions& loop) {
  const CheckpointOptions& options = loop.checkpoint;
  const CheckpointOptions defaults;
  const SavingOptions& saving = options.saving;
  const SaverOptions& saver = options.saver;
  Options set;
  set.add("checkpoint.basename", options.basename != defaults.basename);
  set.add("checkpoint.every_steps", options.every_steps);
  set.add("checkpoint.every_secs", options.every_secs);
  set.add("checkpoint.fast_dir", !options.fast_dir.empty());
  set.add("checkpoint.listeners", !options.listeners.empty());
  set.add("checkpoint.saving.metrics", !saving.metrics.empty());
  set.add("checkpoint.saving.overlap", saving.overlap != defaults.saving.overlap);
  set.add("checkpoint.saving.on_error", saving.on_error != defaults.saving.on_error);
  set.add("checkpoint.saving.deadline_secs", saving.deadline_secs);
  set.add("checkpoint.saving.lock_directory", !saving.lock_directory);
  set.add("checkpoint.copy_threads", std::optional<int64_t>(options.copy_threads));
  set.add("checkpoint.saver.var_list", bool{saver.var_list});
  set.add("checkpoint.saver.filter", saver.filter != nullptr);
  set.add("checkpoint.saver.format", saver.format != defaults.saver.format);
  set.add("checkpoint.saver.num_shards", saver.num_shards != defaults.saver.num_shards);
  set.add("checkpoint.saver.share_unchanged", !saver.share_unchanged);
  if (saver.max_to_keep != defaults.saver.max_to_keep)
    set.add("checkpoint.saver.max_to_keep", std::optional(saver.max_to_keep));
  set.add("checkpoint.saver.keep_checkpoint_every_n_hours", saver.keep_checkpoint_every_n_hours);
  set.add("checkpoint.saver.keep_checkpoint_every_n_steps", saver.keep_checkpoint_every_n_steps);
  set.add("checkpoint.saver.keep_best", saver.keep_best.has_value());
  set.add("checkpoint.saver.retention", !saver.retention.empty());
  set.add("checkpoint.saver.pad_step_number", saver.pad_step_number);
  set.add("checkpoint.saver.latest_filename",
          saver.latest_filename.str() != defaults.saver.latest_filename.str());
  set.add("checkpoint.saver.write_state", !saver.write_state);
  set.add("checkpoint.saver.fallback_dir", !saver.fallback_dir.empty());
  set.add("checkpoint.saver.check_free_space", !saver.check_free_space);
  set.add("checkpoint.saver.record_command_line", !saver.record_command_line);
  set.add("debug.rehearsal_steps", std::optional(loop.debug.rehearsal_steps));
  set.add("restore.which", loop.restore.from.empty() && !loop.restore.which.is_newest());
  return set;
}

void check_effects(const LoopOptions& options) {
  if (options.checkpoint.dir.empty()) set_options(options).refuse_without("checkpoint.dir");
  if (options.checkpoint.dir.empty() && options.summaries.dir.empty()) {
    Options curves;
    curves.add("summaries.every_steps", options.summaries.every_steps);
    curves.add("summaries.every_secs", options.summaries.every_secs);
    curves.refuse_without("checkpoint.dir or summaries.dir");
  }
}

// Those of the saver of a graph, which a loop has not.
void check_saver(const SaverOptions& options) {
  const SaverOptions defaults;
  Options set;
  set.add("checkpoint.saver.writer", options.writer != defaults.writer);
  set.add("checkpoint.saver.unsaved_state", options.unsaved_state != defaults.unsaved_state);
  set.add("checkpoint.saver.write_meta_graph", !options.write_meta_graph);
  set.add("checkpoint.saver.allow_empty", options.allow_empty);
  set.add("checkpoint.saver.defer_build", options.defer_build);
  set.refuse_without("a graph of your own: see train()");
}

void check_restore(const RestoreOptions& options, const std::string& dir) {
  check_stored_names(options.rename);
  if (options.from.empty() && !options.only.is_all())
    throw InvalidArgumentError("restore.only has no effect without restore.from");
  if (!options.from.empty() && options.from == dir)
    throw InvalidArgumentError(
        "restore.from is checkpoint.dir, from which the run resumes in any case");
}

bool is_off(const auto& interval) { return !interval || *interval == 0; }

}  // namespace

void check_interval(const std::string& steps_name, const std::optional<int64_t>& steps,
                    const std::string& secs_name, const std::optional<double>& secs) {
  check_at_least(steps_name, steps, 0);
  check_at_least(secs_name, secs, 0);
  if (!is_off(steps) && !is_off(secs))
    throw InvalidArgumentError(
        fmt::format("{} is {} and {} is {}: at most one of them may be given", steps_name, *steps,
                    secs_name, *secs));
}

void check_options(const RankOptions& options, const std::string& path) {
  check_above(path + ".agree_every_n_steps", options.agree_every_n_steps, 0);
  check_above(path + ".timeout_secs", options.timeout_secs, 0);
}

namespace {

void check_fast(const CheckpointOptions& checkpoint, bool has_group) {
  check_interval("checkpoint.fast_every_steps", checkpoint.fast_every_steps,
                 "checkpoint.fast_every_secs", checkpoint.fast_every_secs);
  if (checkpoint.fast_dir.empty()) {
    Options set;
    set.add("checkpoint.fast_every_steps", checkpoint.fast_every_steps);
    set.add("checkpoint.fast_every_secs", checkpoint.fast_every_secs);
    return set.refuse_without("checkpoint.fast_dir");
  }
  if (has_group)
    throw InvalidArgumentError(
        "checkpoint.fast_dir: not with a group: ranks on other machines could not read what is "
        "there");
  if (is_off(checkpoint.every_steps) && is_off(checkpoint.every_secs) &&
      (checkpoint.every_steps || checkpoint.every_secs))
    throw InvalidArgumentError(
        "checkpoint.fast_dir has no effect if nothing is saved in checkpoint.dir");
}

void check_budget(const CheckpointOptions& checkpoint) {
  const SaveIntervalRule rule = interval_rule(checkpoint);
  check_interval_rule(rule, "checkpoint.");
  if (rule.is_set() && (checkpoint.every_steps || checkpoint.every_secs))
    throw InvalidArgumentError(fmt::format(
        "checkpoint.{} chooses the interval: expected neither checkpoint.every_steps nor "
        "checkpoint.every_secs",
        checkpoint.budget_percent ? "budget_percent" : "mean_secs_between_failures"));
}

}  // namespace

void check_options(const LoopOptions& options) {
  check_at("LoopOptions", [&] {
    const CheckpointOptions& checkpoint = options.checkpoint;
    const SummaryOptions& summaries = options.summaries;
    check_at_least("debug.rehearsal_steps", options.debug.rehearsal_steps, 0);
    if (options.debug.rehearsal_steps > 0 && options.ranks.group)
      throw InvalidArgumentError(
          "debug.rehearsal_steps: not with a group: `crochet rehearse` rehearses one");
    check_interval("checkpoint.every_steps", checkpoint.every_steps, "checkpoint.every_secs",
                   checkpoint.every_secs);
    check_budget(checkpoint);
    check_fast(checkpoint, options.ranks.group != nullptr);
    check_interval("summaries.every_steps", summaries.every_steps, "summaries.every_secs",
                   summaries.every_secs);
    check_interval("summaries.count_every_steps", summaries.count_every_steps,
                   "summaries.count_every_secs", summaries.count_every_secs);
    check_saver(checkpoint.saver);
    check_effects(options);
    if (std::ranges::find(checkpoint.listeners, nullptr) != checkpoint.listeners.end())
      throw InvalidArgumentError("checkpoint.listeners has a null pointer");
    check_options(checkpoint.saving, "checkpoint.saving");
    check_at_least("checkpoint.copy_threads", checkpoint.copy_threads, 0);
    check_options(options.ranks, "ranks");
    check_at_least("max_recoveries", options.max_recoveries, 0);
    check_at_least("ending.deadline", options.ending.deadline, 0);
    if (options.ending.deadline >= kYear10000)
      throw InvalidArgumentError(
          fmt::format("ending.deadline is {}, expected seconds since 1970: are these milliseconds?",
                      *options.ending.deadline));
    check_at_least("ending.stop_grace_period_secs", options.ending.stop_grace_period_secs, 0);
    check_restore(options.restore, checkpoint.dir);
  });
}

}  // namespace crochet::inline v0::internal
