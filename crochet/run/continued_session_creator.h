// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "crochet/checkpoint/saver/saver.h"
#include "crochet/monitor/session_creator.h"

namespace crochet::internal {

// What a program has restored before its run.
struct EarlyRestore {
  std::string prefix;  // Of the checkpoint: "runs/digits/model.ckpt-200".
  RestoreReport report;
  // Variables and objects that have their values, and may have been changed since.
  std::set<std::string, std::less<>> names;
};

// Makes the first session of a run that goes on from an early restore: only what was not restored
// then, the step and the state of hooks, is taken from the checkpoint. Later sessions, those of
// recoveries, are another creator's.
class ContinuedSessionCreator final : public SessionCreator {
 public:
  // Requires: the scaffold has a saver. Throws: nothing.
  ContinuedSessionCreator(EarlyRestore early, std::shared_ptr<Scaffold> scaffold,
                          std::unique_ptr<SessionCreator> later)
      : early_(std::move(early)), scaffold_(std::move(scaffold)), later_(std::move(later)) {}

  Graph& graph() const override { return later_->graph(); }
  // Throws: as Saver::restore.
  std::unique_ptr<Session> create_session() override;
  std::optional<std::string> restored_from() const override;
  std::optional<RestoreReport> restore_report() const override;

 private:
  const EarlyRestore early_;
  const std::shared_ptr<Scaffold> scaffold_;
  const std::unique_ptr<SessionCreator> later_;
  int num_sessions_ = 0;
};

}  // namespace crochet::internal
