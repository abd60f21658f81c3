// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "crochet/base/export.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/monitor/session_creator.h"

namespace crochet::inline v0::internal {

// The state that a program restored before its run.
struct EarlyRestore {
  std::string prefix;  // The checkpoint's: "runs/digits/model.ckpt-200".
  RestoreReport report;
  // Variables and objects that were restored, and may have been changed since.
  std::set<std::string, std::less<>> names;
};

// Creates the first session of a run that continues from an early restore: only state that was not
// restored then, the step and the state of hooks, is read from the checkpoint. Later sessions,
// those of recoveries, are created by `later`.
class CROCHET_EXPORT ContinuedSessionCreator final : public SessionCreator {
 public:
  // Requires: the scaffold has a saver. Does not throw.
  ContinuedSessionCreator(EarlyRestore early, std::shared_ptr<Scaffold> scaffold,
                          std::unique_ptr<SessionCreator> later)
      : early_(std::move(early)), scaffold_(std::move(scaffold)), later_(std::move(later)) {}

  Graph& graph() const override { return later_->graph(); }
  // Throws: as Saver::restore does.
  std::unique_ptr<Session> create_session() override;
  std::optional<std::string> restored_from() const override;
  std::optional<RestoreReport> restore_report() const override;

 private:
  const EarlyRestore early_;
  const std::shared_ptr<Scaffold> scaffold_;
  const std::unique_ptr<SessionCreator> later_;
  int num_sessions_ = 0;
};

}  // namespace crochet::inline v0::internal
