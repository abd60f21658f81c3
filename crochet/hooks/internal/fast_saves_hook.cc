// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/fast_saves_hook.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/internal/fast_place.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/saver/internal/saver_access.h"
#include "crochet/hooks/internal/global_step.h"
#include "crochet/hooks/internal/run_directories.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/directory_lock.h"

namespace crochet::inline v0::internal {
namespace {

// What the checkpoints of the run have, but one at a time and only what a restore needs.
SaverOptions options_of(const Saver& saver) {
  SaverOptions options = saver.options();
  const SaverOptions defaults;
  options.num_shards = 1;
  options.max_to_keep = 1;
  options.keep_checkpoint_every_n_hours.reset();
  options.keep_checkpoint_every_n_steps.reset();
  options.keep_best.reset();
  options.retention.clear();
  options.fallback_dir.clear();
  options.latest_filename = defaults.latest_filename;
  options.write_meta_graph = false;
  options.files = &saver.files();
  options.clock = &saver.clock();
  return options;
}

std::optional<int64_t> newest_step(FileSystem& files, const std::string& directory,
                                   const CheckpointBasename& basename) {
  const std::vector<std::string> prefixes = list_checkpoints(files, directory, basename);
  return prefixes.empty() ? std::nullopt : step_of_prefix(prefixes.back());
}

}  // namespace

FastSavesHook::FastSavesHook(FastSavesHookOptions options)
    : options_(std::move(options)),
      timer_({.every_steps = options_.save_steps,
              .every_secs = options_.save_secs,
              .clock = options_.clock,
              .owner = "checkpoint",
              .steps_option = "fast_every_steps",
              .secs_option = "fast_every_secs"}) {}

void FastSavesHook::begin(Graph& graph) {
  graph_ = &graph;
  FileSystem& files = options_.saver->files();
  options_.checkpoint_dir = files.fixed_path(options_.checkpoint_dir);
  place_ = fast_place_of(files.fixed_path(options_.fast_dir), options_.checkpoint_dir);
  save_path_ = join_path(place_, options_.basename.str());
  saver_ = SaverAccess::another(*options_.saver, options_of(*options_.saver));
  try {
    locks_ = lock_directories({.checkpoint_dir = place_,
                               .fallback_dir = "",
                               .basename = options_.basename,
                               .lock = DirectoryLock::Kind::kFile},
                              files, saver_->options());
    background_ = std::make_unique<BackgroundSaver>(
        *saver_, BackgroundSaverOptions{.overlap = options_.overlap});
  } catch (const FailedPreconditionError&) {
    throw;
  } catch (const Error& error) {
    log_warning(
        fmt::format("the run continues without checkpoints in {}: {}", place_, error.what()));
  }
}

void FastSavesHook::after_create_session(Session& session, Coordinator&) {
  if (!background_) return;
  background_->wait();
  SaverAccess::record_as(*saver_, *options_.saver);
  try {
    claim_fast_place(saver_->files(), own_save_path(), place_);
  } catch (const Error& error) {
    log_warning(fmt::format("checkpoints in {} may not be restored: {}", place_, error.what()));
  }
  timer_.update_last_triggered_step(read_global_step(session));
}

std::string FastSavesHook::own_save_path() const {
  return join_path(options_.checkpoint_dir, options_.basename.str());
}

std::optional<SessionRunArgs> FastSavesHook::before_run(SessionRunContext& context) {
  if (background_) context.request_global_step();
  return {};
}

void FastSavesHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  if (!background_) return;
  if (background_->has_finished()) log_failed();
  if (context.step_rejected()) return;
  constexpr int64_t kMany = 1'000'000;  // The step was read before the run.
  if (!timer_.should_trigger_for_step(context.global_step() +
                                      options_.steps_per_run.value_or(kMany)))
    return;
  const int64_t step = read_global_step(context.session());
  if (!timer_.should_trigger_for_step(step)) return;
  timer_.update_last_triggered_step(step);
  save(context.session(), step);
}

void FastSavesHook::save(Session& session, int64_t step) {
  TimeLedger& times = TimeLedger::of(*graph_);
  const TimeSpan span(times, TimeKind::kSaving);
  if (options_.overlap == SaveOverlapPolicy::kSkip && background_->busy())
    return log_debug(fmt::format(
        "{}: the checkpoint of step {} is skipped: another one is being written", place_, step));
  if (options_.overlap == SaveOverlapPolicy::kWait && !background_->wait_for_turn()) return;
  const Clock::TimePoint snapshot = saver_->clock().now();
  SaveSource source =
      SaverAccess::snapshot_for(*saver_, session, saver_->prefix_of(save_path_, step));
  if (source.empty()) return;
  const Clock::TimePoint taken = saver_->clock().now();
  times.follow_save(background_->enqueue(std::move(source), save_path_, step), snapshot, taken);
}

// The background saver has logged each error.
void FastSavesHook::log_failed() {
  for (const SaveTicket& ticket : background_->take_finished()) {
    const bool has_failed = ticket.error() != nullptr;
    if (has_failed && !has_failed_)
      log_warning(fmt::format("{} has no newer checkpoint than before step {}: the run continues",
                              place_, ticket.step()));
    has_failed_ = has_failed;
  }
}

void FastSavesHook::remove_if_superseded() {
  FileSystem& files = saver_->files();
  const auto own = newest_step(files, options_.checkpoint_dir, options_.basename);
  if (own < newest_step(files, place_, options_.basename)) return;
  empty_fast_place(files, own_save_path(), place_);
}

void FastSavesHook::end(Session&) {
  if (!background_) return;
  finish();
  try {
    remove_if_superseded();
  } catch (const Error& error) {
    log_warning(
        fmt::format("{}: the checkpoints there cannot be removed: {}", place_, error.what()));
  }
  locks_.reset();
}

void FastSavesHook::on_error(std::exception_ptr) {
  finish();
  locks_.reset();
}

void FastSavesHook::finish() {
  if (!background_) return;
  try {
    background_->wait();
  } catch (const Error& error) {  // The child of a fork unwinds its parent's run.
    log_error(error.what());
  }
  log_failed();
  background_.reset();
}

}  // namespace crochet::inline v0::internal
