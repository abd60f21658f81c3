// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "crochet/training/session_creator.h"

namespace crochet {

// Wraps any engine's session; calls `on_fetch` for each fetch before a run.
class FailingSession final : public Session {
 public:
  FailingSession(std::unique_ptr<Session> session, std::function<void(const Output&)> on_fetch)
      : session_(std::move(session)), on_fetch_(std::move(on_fetch)) {}

  Graph& graph() const override { return session_->graph(); }
  const std::string& target() const override { return session_->target(); }
  void run_into(std::span<const Output> fetches, const Feeds& feeds, std::span<Tensor> results,
                const RunOptions& options, RunMetadata* metadata) override {
    std::ranges::for_each(fetches, on_fetch_);
    session_->run_into(fetches, feeds, results, options, metadata);
  }
  Snapshot snapshot(std::span<const Variable> variables) override {
    return session_->snapshot(variables);
  }
  void assign(std::span<const Assignment> assignments) override { session_->assign(assignments); }
  void close() override { session_->close(); }

 private:
  const std::unique_ptr<Session> session_;
  const std::function<void(const Output&)> on_fetch_;
};

// Creates sessions in which the n-th run of `operation`, counted from 1 over all sessions, calls
// `fail` first.
class FailingSessionCreator final : public SessionCreator {
 public:
  FailingSessionCreator(std::unique_ptr<SessionCreator> creator, Output operation, int n,
                        std::function<void()> fail)
      : creator_(std::move(creator)), operation_(operation), n_(n), fail_(std::move(fail)) {}

  Graph& graph() const override { return creator_->graph(); }
  CreatedSession create_session() override {
    CreatedSession created = creator_->create_session();
    created.session =
        std::make_unique<FailingSession>(std::move(created.session), [this](const Output& output) {
          if (output == operation_ && ++num_runs_ == n_) fail_();
        });
    return created;
  }

 private:
  const std::unique_ptr<SessionCreator> creator_;
  const Output operation_;
  const int n_;
  const std::function<void()> fail_;
  int num_runs_ = 0;
};

}  // namespace crochet
