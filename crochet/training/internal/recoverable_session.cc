// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/internal/recoverable_session.h"

#include <algorithm>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/caught.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"

namespace crochet::inline v0::internal {
namespace {

constexpr std::chrono::seconds kLongestWait(60);

}  // namespace

RecoverableSession::RecoverableSession(Factory factory, RecoveryOptions options)
    : factory_(std::move(factory)),
      options_(std::move(options)),
      clock_(Clock::or_real(options_.clock)) {
  try {
    inner_ = factory_();
  } catch (...) {
    recover(caught());
  }
}

FetchValues RecoverableSession::run(const Fetches& fetches, const Feeds& feeds,
                                    const RunOptions& options, RunMetadata* metadata) {
  while (true) {
    try {
      return run_once(fetches, feeds, options, metadata);
    } catch (...) {
      recover_or_rethrow();
    }
  }
}

FetchValues RecoverableSession::run_once(const Fetches& fetches, const Feeds& feeds,
                                         const RunOptions& options, RunMetadata* metadata) {
  check_open();
  FetchValues values = inner_->run(fetches, feeds, options, metadata);
  record_success();
  return values;
}

void RecoverableSession::throw_closed() const {
  if (loss_)
    throw FailedPreconditionError(fmt::format(
        "the session is lost, because a recovery failed: {}; close it, and create another one",
        describe(loss_)));
  throw FailedPreconditionError("the session is closed");
}

WrappedSession& RecoverableSession::open_inner() const {
  check_open();
  return *inner_;
}

bool RecoverableSession::should_stop() {
  if (!inner_) return true;
  try {
    return inner_->should_stop();
  } catch (...) {
    if (!is_preemption(std::current_exception())) return true;
    recover(std::current_exception());
    return inner_->should_stop();
  }
}

void RecoverableSession::close() {
  if (!inner_) return;
  const std::unique_ptr<WrappedSession> inner = std::move(inner_);
  try {
    inner->close();
  } catch (...) {
    if (!is_preemption(std::current_exception())) throw;
    log_warning(fmt::format("while closing: {}", describe(std::current_exception())));
  }
}

void RecoverableSession::record_progress() {
  const int64_t start = options_.start_step ? options_.start_step() : 0;
  if (start + runs_ > failed_step_) recoveries_without_progress_ = 0;
}

void RecoverableSession::recover_or_rethrow() {
  const std::exception_ptr error = caught();
  if (!is_preemption(error)) std::rethrow_exception(error);
  recover(error);
}

void RecoverableSession::recover(std::exception_ptr error) {
  try {
    replace_session(std::move(error));
  } catch (...) {
    loss_ = std::current_exception();
    throw;
  }
}

void RecoverableSession::replace_session(std::exception_ptr error) {
  // The session stays, so that its last step may be saved.
  if (inner_ && pending_signal() != 0) std::rethrow_exception(error);
  if (inner_) {
    const int64_t start = options_.start_step ? options_.start_step() : 0;
    lost_step_ = start + runs_;
    failed_step_ = std::max(failed_step_, lost_step_);
  }
  close();
  while (true) {
    if (!is_preemption(error) || (options_.can_recover && !options_.can_recover()) ||
        (options_.max_recoveries && recoveries_without_progress_ >= *options_.max_recoveries))
      std::rethrow_exception(error);
    if (options_.before_recovery) options_.before_recovery(error);
    log_warning(fmt::format("recovering from: {}", describe(error)));
    wait_before_recovery(error);
    ++num_recoveries_;
    ++recoveries_without_progress_;
    try {
      inner_ = factory_();
      runs_ = 0;
      return;
    } catch (...) {
      error = caught();
    }
  }
}

void RecoverableSession::wait_before_recovery(const std::exception_ptr& error) {
  if (pending_signal() != 0) std::rethrow_exception(error);
  if (recoveries_without_progress_ == 0) return;
  const int doublings = std::min(recoveries_without_progress_ - 1, 6);
  const auto wait = std::min<Clock::Duration>(std::chrono::seconds(1 << doublings), kLongestWait);
  if (!sleep_unless_signalled(clock_, wait)) std::rethrow_exception(error);
}

}  // namespace crochet::inline v0::internal
