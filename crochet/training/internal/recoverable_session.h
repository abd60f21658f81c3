// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/training/internal/wrapped_session.h"

namespace crochet::inline v0::internal {

struct RecoveryOptions {
  // How many times to recover without getting past the step that failed before the error is
  // thrown; unset: no limit.
  std::optional<int> max_recoveries = {};
  // Asked before a recovery; false throws the error. Empty: always possible.
  std::function<bool()> can_recover = {};
  // Called before each recovery, with the error; what it throws is thrown instead. May be empty.
  std::function<void(const std::exception_ptr& error)> before_recovery = {};
  // The step at which the current session began. Empty: 0.
  std::function<int64_t()> start_step = {};
  // Paces the recoveries; Clock::real() if null. Not owned.
  Clock* clock = nullptr;
};

// Creates a new session and repeats the failed run when an AbortedError or
// UnavailableError reports that the session is lost. The first recovery is immediate; later
// ones wait 1 s, 2 s, 4 s, ... 60 s until a run gets past the failed step.
class CROCHET_EXPORT RecoverableSession final : public WrappedSession {
 public:
  using Factory = std::function<std::unique_ptr<WrappedSession>()>;

  // Creates the first session. Throws: what the factory throws, except for errors that
  // are recovered from.
  RecoverableSession(Factory factory, RecoveryOptions options);

  // Throw: FailedPreconditionError once this is closed or lost.
  Graph& graph() const override { return open_inner().graph(); }
  const std::string& target() const override { return open_inner().target(); }

  FetchValues run(const Fetches& fetches, const Feeds& feeds, const RunOptions& options = {},
                  RunMetadata* metadata = nullptr) override;
  // The same without the recovery. Counts as progress once it succeeds.
  FetchValues run_once(const Fetches& fetches, const Feeds& feeds, const RunOptions& options = {},
                       RunMetadata* metadata = nullptr);
  // Throws: FailedPreconditionError once this is closed or lost.
  void check_open() const {
    if (!inner_) throw_closed();
  }
  // For a handler of an error: makes a new session if the error is one to recover from, so that
  // the failed call can be repeated. Otherwise throws the error. What a recovery throws, whatever
  // its type, means that the session is lost.
  void recover_or_rethrow();
  // Why the session is lost; null if it is not.
  const std::exception_ptr& loss() const { return loss_; }
  // An error reported by a thread of the session makes this true and is thrown by close();
  // an AbortedError or UnavailableError is recovered from instead.
  bool should_stop() override;
  void close() override;

  int num_recoveries() const { return num_recoveries_; }
  // The step that the last session to be lost had reached.
  int64_t lost_step() const { return lost_step_; }

 private:
  [[noreturn]] void throw_closed() const;
  WrappedSession& open_inner() const;
  // Throws `error` if it is not to be recovered from; otherwise makes a session. What it throws is
  // recorded as the loss.
  void recover(std::exception_ptr error);
  void replace_session(std::exception_ptr error);
  void wait_before_recovery(const std::exception_ptr& error);
  void record_success() {
    ++runs_;
    if (recoveries_without_progress_ > 0) record_progress();
  }
  // Sets recoveries_without_progress_ to 0 once the session is past the failed step.
  void record_progress();

  const Factory factory_;
  const RecoveryOptions options_;
  Clock& clock_;
  std::unique_ptr<WrappedSession> inner_;  // Null when closed or lost.
  std::exception_ptr loss_;

  int num_recoveries_ = 0;
  int recoveries_without_progress_ = 0;
  int64_t runs_ = 0;  // Successful runs of the current session.
  int64_t failed_step_ = -1;
  int64_t lost_step_ = 0;
};

}  // namespace crochet::inline v0::internal
