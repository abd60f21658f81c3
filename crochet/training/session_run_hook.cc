// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/session_run_hook.h"

#include <csignal>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/class_name.h"
#include "crochet/training/internal/go_back.h"
#include "crochet/training/internal/hooked_session.h"

namespace crochet::inline v0 {

void SessionRunContext::request_stop(std::string reason, int signal) {
  stop_.request_stop({caller_ ? caller_->name() : "the program", std::move(reason), signal});
}

void SessionRunContext::request_stop(const StopBefore& stop, const std::string& reason) {
  stop_.request_stop({stop.who ? stop.who->name() : "the program",
                      fmt::format("{}: {}", stop.reason, reason), SIGTERM});
}

void SessionRunContext::request_stop_before(double time, double run_secs, std::string_view reason) {
  if (!stop_before_ || time < stop_before_->time) stop_before_ = {time, run_secs, reason, caller_};
}

void SessionRunContext::request_save(std::string reason) {
  if (!save_request_) save_request_ = std::move(reason);
}

std::string SessionRunContext::activity() const { return owner_ ? owner_->activity() : ""; }

RunTimes SessionRunContext::times() const { return owner_ ? owner_->times() : RunTimes(); }

void SessionRunContext::go_back_to(int64_t step, const std::string& reason) {
  reject_step();
  throw internal::GoBackError(reason, step);
}

std::function<void()> SessionRunContext::repeatable_run() const {
  if (owner_) return owner_->repeatable_run();
  return [&session = session_, args = original_args_] {
    session.run(args.fetches, args.feeds, args.options.value_or(RunOptions()));
  };
}

int64_t SessionRunContext::global_step() const {
  if (!global_step_)
    throw FailedPreconditionError(
        "the global step of a run is known in after_run, if before_run called "
        "request_global_step()");
  return *global_step_;
}

void SessionRunContext::read_own_global_step() { global_step_ = read_global_step(session_); }

std::optional<int64_t> SessionRunContext::last_step() const {
  return owner_ ? owner_->last_step() : last_step_;
}

std::string SessionRunHook::name() const {
  return internal::class_name_of(*this, "SessionRunHook");
}

}  // namespace crochet::inline v0
