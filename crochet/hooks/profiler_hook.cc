// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/profiler_hook.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/base/log.h"
#include "crochet/hooks/internal/global_step.h"
#include "crochet/hooks/internal/signal_handlers.h"
#include "crochet/io/file_system.h"
#include "crochet/summary/internal/traced_run.h"
#include "crochet/training/internal/time_ledger.h"

namespace crochet::inline v0 {
namespace {

std::optional<SecondOrStepTimer> timer_of(const ProfilerHookOptions& options) {
  if (!options.signals.empty() && !options.save_steps && !options.save_secs) return std::nullopt;
  return SecondOrStepTimer({.every_steps = options.save_steps,
                            .every_secs = options.save_secs,
                            .clock = options.clock,
                            .owner = "ProfilerHook",
                            .steps_option = "save_steps",
                            .secs_option = "save_secs"});
}

}  // namespace

struct ProfilerHook::Window {
  int64_t first_step;
  std::vector<internal::TracedRun> runs = {};
  std::vector<int64_t> steps = {};          // After each run.
  std::chrono::nanoseconds run_start = {};  // Of the run that is being made.
};

ProfilerHook::ProfilerHook(const ProfilerHookOptions& options)
    : options_(options), files_(&FileSystem::or_posix(options.files)), timer_(timer_of(options)) {
  internal::check_above("ProfilerHook: num_steps", options_.num_steps, 0);
  if (!options_.signals.empty()) internal::check_signals("ProfilerHook", options_.signals);
  options_.output_dir = files_->fixed_path(options_.output_dir);
}

ProfilerHook::~ProfilerHook() = default;
ProfilerHook::ProfilerHook(ProfilerHook&&) noexcept = default;

void ProfilerHook::begin(Graph& graph) {
  internal::require_global_step(graph, *this);
  times_ = &internal::TimeLedger::of(graph);
  writer_ =
      SummaryWriter::for_directory(options_.output_dir, *files_, Clock::or_real(options_.clock));
  if (!options_.signals.empty())
    handlers_ = std::make_shared<internal::SignalHandlers>(options_.signals);
}

void ProfilerHook::after_create_session(Session& session, Coordinator&) {
  next_step_.reset();
  window_.reset();
  if (times_->is_tracing()) times_->take_trace();
  writer_->start_session(read_global_step(session));
}

bool ProfilerHook::is_due() const {
  return next_step_ && (is_signalled_ || (timer_ && timer_->should_trigger_for_step(*next_step_)));
}

std::optional<SessionRunArgs> ProfilerHook::before_run(SessionRunContext& context) {
  internal::require_session(writer_ != nullptr, *this);
  context.request_global_step();
  if (!window_ && is_due()) window_ = std::make_unique<Window>(Window{*next_step_});
  if (!window_) return {};
  // By seconds, nobody knew it before.
  if (!times_->is_tracing()) times_->begin_trace();
  window_->run_start = times_->trace_time();
  return SessionRunArgs{.options = RunOptions{.trace_level = TraceLevel::kFull}};
}

void ProfilerHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  const int64_t stale_step = context.global_step();
  if (!next_step_ && timer_) timer_->update_last_triggered_step(stale_step);
  int64_t step = stale_step + 1;
  if (window_) {
    step = read_global_step(context.session());
    window_->steps.push_back(step);
    window_->runs.push_back({.metadata = *values.run_metadata, .start = window_->run_start});
    if (std::ssize(window_->runs) == options_.num_steps) save(step);
  }
  for (const int signal : options_.signals)
    is_signalled_ = internal::SignalHandlers::take(signal) || is_signalled_;
  next_step_ = step + 1;
  // Begun here, so that it has the hooks before this one.
  if (!window_ && is_due() && !times_->is_tracing()) times_->begin_trace();
}

void ProfilerHook::save(int64_t step) {
  const Window window = *std::exchange(window_, nullptr);
  const std::vector<internal::TraceSpan> spans = times_->take_trace();
  if (timer_) timer_->update_last_triggered_step(step);
  is_signalled_ = false;
  const auto has_operations = [](const internal::TracedRun& run) {
    return !run.metadata.operations.empty();
  };
  if (std::ranges::none_of(window.runs, has_operations)) {
    log_warning(fmt::format("step {} has no profile: the engine timed no operation", step));
    return;
  }
  const std::string steps = window.first_step < step
                                ? fmt::format("steps {} to {}", window.first_step, step)
                                : fmt::format("step {}", step);
  const std::string path = join_path(options_.output_dir, fmt::format("timeline-{}.json", step));
  try {
    files_->create_directories(directory_of(path));
    replace_file(*files_, path,
                 internal::chrome_trace(window.runs, spans,
                                        {.show_dataflow = options_.show_dataflow,
                                         .show_memory = options_.show_memory}));
    log_info(fmt::format("{}: the profile of {}", path, steps));
  } catch (const Error& error) {
    log_warning(fmt::format("the profile of {} cannot be written: {}", steps, error.what()));
  }
  // TensorBoard shows runs one by one.
  for (size_t i = 0; i < window.runs.size(); ++i)
    writer_->add_run_metadata(fmt::format("step_{}", window.steps[i]),
                              internal::encode_run_metadata(window.runs[i].metadata),
                              window.steps[i]);
}

void ProfilerHook::end(Session&) { handlers_.reset(); }
void ProfilerHook::on_error(std::exception_ptr) { handlers_.reset(); }

}  // namespace crochet::inline v0
