// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/profiler_hook.h"

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/hooks/internal/global_step.h"
#include "crochet/io/file_system.h"
#include "crochet/summary/internal/traced_run.h"

namespace crochet::inline v0 {

ProfilerHook::ProfilerHook(const ProfilerHookOptions& options)
    : options_(options),
      files_(&FileSystem::or_posix(options.files)),
      timer_({.every_steps = options.save_steps,
              .every_secs = options.save_secs,
              .clock = options.clock,
              .owner = "ProfilerHook",
              .steps_option = "save_steps",
              .secs_option = "save_secs"}) {
  options_.output_dir = files_->fixed_path(options_.output_dir);
}

void ProfilerHook::begin(Graph& graph) {
  internal::require_global_step(graph, *this);
  writer_ =
      SummaryWriter::for_directory(options_.output_dir, *files_, Clock::or_real(options_.clock));
}

void ProfilerHook::after_create_session(Session& session, Coordinator&) {
  next_step_.reset();
  writer_->start_session(read_global_step(session));
}

std::optional<SessionRunArgs> ProfilerHook::before_run(SessionRunContext& context) {
  internal::require_session(writer_ != nullptr, *this);
  requested_ = next_step_ && timer_.should_trigger_for_step(*next_step_);
  context.request_global_step();
  if (!requested_) return {};
  return SessionRunArgs{.options = RunOptions{.trace_level = TraceLevel::kFull}};
}

void ProfilerHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  const int64_t stale_step = context.global_step();
  if (!next_step_) timer_.update_last_triggered_step(stale_step);
  int64_t step = stale_step + 1;
  if (requested_) {
    step = read_global_step(context.session());
    timer_.update_last_triggered_step(step);
    save(step, *values.run_metadata);
  }
  next_step_ = step + 1;
}

void ProfilerHook::save(int64_t step, const RunMetadata& metadata) {
  if (metadata.operations.empty()) {
    log_warning(fmt::format("step {} has no profile: the engine timed no operation", step));
    return;
  }
  const std::string path = join_path(options_.output_dir, fmt::format("timeline-{}.json", step));
  try {
    files_->create_directories(directory_of(path));
    replace_file(*files_, path,
                 internal::chrome_trace(metadata, {.show_dataflow = options_.show_dataflow,
                                                   .show_memory = options_.show_memory}));
    log_info(fmt::format("{}: the profile of step {}", path, step));
  } catch (const Error& error) {
    log_warning(fmt::format("the profile of step {} cannot be written: {}", step, error.what()));
  }
  writer_->add_run_metadata(fmt::format("step_{}", step), internal::encode_run_metadata(metadata),
                            step);
}

}  // namespace crochet::inline v0
