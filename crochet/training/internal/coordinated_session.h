// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "crochet/training/coordinator.h"
#include "crochet/training/internal/wrapped_session.h"

namespace crochet::inline v0::internal {

// Ties a session to its threads: a stop they request ends the loop, and an error they report is
// thrown in it.
class CoordinatedSession final : public WrappedSession {
 public:
  // Requires: the coordinator outlives this.
  CoordinatedSession(std::unique_ptr<WrappedSession> inner, Coordinator& coordinator,
                     double stop_grace_period_secs = 120)
      : inner_(std::move(inner)),
        coordinator_(coordinator),
        stop_grace_period_secs_(stop_grace_period_secs) {}

  Graph& graph() const override { return inner_->graph(); }
  const std::string& target() const override { return inner_->target(); }

  // If the run fails and a thread has reported an AbortedError or UnavailableError, that error,
  // being the cause, is thrown.
  FetchValues run(const Fetches& fetches, const Feeds& feeds = {}, const RunOptions& options = {},
                  RunMetadata* metadata = nullptr) override;
  // Throws: the error that a thread reported.
  bool should_stop() override;
  // Stops the threads, waits for them up to the grace period, then closes the inner session.
  // Throws, after closing, the error that a thread reported.
  void close() override;

 private:
  std::unique_ptr<WrappedSession> inner_;
  Coordinator& coordinator_;
  const double stop_grace_period_secs_;
  bool closed_ = false;
};

}  // namespace crochet::inline v0::internal
