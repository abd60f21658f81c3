// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/internal/coordinated_session.h"

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/caught.h"
#include "crochet/base/log.h"

namespace crochet::inline v0::internal {

FetchValues CoordinatedSession::run(const Fetches& fetches, const Feeds& feeds,
                                    const RunOptions& options, RunMetadata* metadata) {
  try {
    return inner_->run(fetches, feeds, options, metadata);
  } catch (...) {
    const std::exception_ptr error = caught();
    if (is_preemption(error)) throw;
    try {
      coordinator_.raise_requested_exception();
    } catch (...) {
      if (is_preemption(std::current_exception())) throw;
    }
    std::rethrow_exception(error);
  }
}

bool CoordinatedSession::should_stop() {
  if (closed_) return true;
  if (!coordinator_.should_stop()) return inner_->should_stop();
  coordinator_.raise_requested_exception();
  return true;
}

void CoordinatedSession::close() {
  if (closed_) return;
  closed_ = true;
  coordinator_.request_stop({"the program", "the session is closed"});
  std::exception_ptr error_of_thread;
  try {
    coordinator_.join(
        {}, {.stop_grace_period_secs = stop_grace_period_secs_, .ignore_live_threads = true});
  } catch (...) {
    error_of_thread = std::current_exception();
  }
  try {
    inner_->close();
  } catch (...) {
    log_warning(fmt::format("closing a session failed: {}", describe(std::current_exception())));
  }
  if (error_of_thread) std::rethrow_exception(error_of_thread);
}

}  // namespace crochet::inline v0::internal
