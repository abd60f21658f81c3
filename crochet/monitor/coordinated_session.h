// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "crochet/monitor/coordinator.h"
#include "crochet/monitor/wrapped_session.h"

namespace crochet {

// Ties a session to its threads: their stop ends the loop, their error is the loop's.
class CoordinatedSession final : public WrappedSession {
 public:
  // Requires: the coordinator outlives this.
  CoordinatedSession(std::unique_ptr<WrappedSession> inner, Coordinator& coordinator)
      : inner_(std::move(inner)), coordinator_(coordinator) {}

  // If the run fails because a thread met an AbortedError or UnavailableError, that one, the
  // cause, is thrown.
  FetchValues run(const Fetches& fetches, const Feeds& feeds) override;
  // Throws: the error that a thread reported.
  bool should_stop() override;
  // Throws, after closing, the error that a thread reported.
  void close() override;

 private:
  std::unique_ptr<WrappedSession> inner_;
  Coordinator& coordinator_;
  bool closed_ = false;
};

}  // namespace crochet
