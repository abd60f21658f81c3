// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/checkpoint_saver_hook.h"

#include <algorithm>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/checkpoint_files.h"
#include "crochet/checkpoint/checkpoint_state.h"
#include "crochet/checkpoint/registered_saver.h"
#include "crochet/hooks/global_step.h"
#include "crochet/io/path.h"

namespace crochet {

CheckpointSaverHook::CheckpointSaverHook(CheckpointSaverHookOptions options)
    : options_(std::move(options)),
      timer_({.every_secs = options_.save_secs,
              .every_steps = options_.save_steps,
              .clock = options_.clock}) {
  if (options_.saver && options_.scaffold)
    throw InvalidArgumentError(
        "a checkpoint hook was given a saver and a scaffold: at most one of "
        "them may be given");
  if (options_.checkpoint_dir.empty())
    throw InvalidArgumentError("a checkpoint hook was given no checkpoint_dir");
  if (std::ranges::find(options_.listeners, nullptr) != options_.listeners.end())
    throw InvalidArgumentError("a checkpoint hook was given a listener that is a null pointer");
}

std::shared_ptr<Saver> CheckpointSaverHook::find_saver() const {
  if (options_.saver) return options_.saver;
  if (options_.scaffold && options_.scaffold->saver) return options_.scaffold->saver;
  return graph_ ? registered_saver(*graph_) : nullptr;
}

Saver& CheckpointSaverHook::saver() {
  if (options_.scaffold && options_.scaffold->saver) return *options_.scaffold->saver;
  if (!saver_) saver_ = find_saver();
  if (!saver_) saver_ = std::make_shared<Saver>(SaverOptions{.allow_empty = true});
  return *saver_;
}

std::string CheckpointSaverHook::save_path() const {
  return join_path(options_.checkpoint_dir, options_.checkpoint_basename);
}

void CheckpointSaverHook::begin(Graph& graph) {
  step_ = require_global_step(graph, *this);
  graph_ = &graph;
  saver_.reset();
  // It may be made with the session only; its files are the operating system's then.
  const std::shared_ptr<Saver> known = find_saver();
  FileSystem& files = known ? known->files() : FileSystem::posix();
  auto lock = std::make_unique<DirectoryLock>(files, options_.checkpoint_dir);
  remove_leftovers(files, options_.checkpoint_dir, options_.checkpoint_basename);
  for (const auto& listener : options_.listeners) listener->begin();
  writer_ = SummaryWriter::for_directory(options_.checkpoint_dir, files);
  lock_ = std::move(lock);  // Last: a hook that cannot begin holds nothing.
}

void CheckpointSaverHook::after_create_session(Session& session, Coordinator& coordinator) {
  const int64_t step = read_global_step(session);
  last_saved_step_.reset();
  step_rejected_ = false;
  timer_.update_last_triggered_step(step);
  if (save_if_missing(session, step)) coordinator.request_stop({name(), "a listener asks for it"});
}

bool CheckpointSaverHook::save_if_missing(Session& session, int64_t step) {
  const std::string prefix = saver().prefix_of(save_path(), step);
  if (!checkpoint_exists(saver().files(), prefix)) return save(session, step);
  last_saved_step_ = step;
  return false;
}

std::optional<SessionRunArgs> CheckpointSaverHook::before_run(SessionRunContext&) {
  return SessionRunArgs{.fetches = step_};
}

void CheckpointSaverHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  step_rejected_ = context.step_rejected();
  if (step_rejected_) return;
  const int64_t stale_step = step_value(values.results.tensor());
  if (!timer_.should_trigger_for_step(stale_step + options_.steps_per_run)) return;
  const int64_t step = read_global_step(context.session());
  if (!timer_.should_trigger_for_step(step)) return;
  timer_.update_last_triggered_step(step);
  if (save(context.session(), step)) context.request_stop("a listener asks for it");
}

void CheckpointSaverHook::end(Session& session) {
  try {
    const int64_t step = read_global_step(session);
    if (step_rejected_)
      log_warning("step {} is not saved: a hook rejected it", step);
    else if (last_saved_step_ != step)
      save(session, step);
    finish(session);
    for (const auto& listener : options_.listeners) listener->end(session, step);
  } catch (...) {
    release();
    throw;
  }
  release();
}

void CheckpointSaverHook::on_error(std::exception_ptr) { release(); }

void CheckpointSaverHook::release() {
  writer_.reset();
  lock_.reset();
}

bool CheckpointSaverHook::save(Session& session, int64_t step) {
  call_before_save(session, step);
  saver().save(session, save_path(), step);
  last_saved_step_ = step;
  return call_after_save(session, step);
}

void CheckpointSaverHook::finish(Session&) {}

void CheckpointSaverHook::call_before_save(Session& session, int64_t step) {
  for (const auto& listener : options_.listeners) listener->before_save(session, step);
}

bool CheckpointSaverHook::call_after_save(Session& session, int64_t step) {
  if (writer_) writer_->add_session_log(SessionLog::kCheckpoint, step, save_path());
  bool stop = false;
  for (const auto& listener : options_.listeners) {
    if (!listener->after_save(session, step)) continue;
    log_info("a checkpoint listener asks to stop after saving step {}", step);
    stop = true;
  }
  return stop;
}

}  // namespace crochet
