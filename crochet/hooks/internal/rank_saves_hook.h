// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "crochet/base/internal/export.h"
#include "crochet/ranks/internal/run_agreement.h"
#include "crochet/training/scaffold.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0::internal {

// Lets a rank take part in the saves of the others, after each step on which the ranks agree. Comes
// after all savers.
class CROCHET_EXPORT RankSavesHook final : public SessionRunHook {
 public:
  RankSavesHook(std::shared_ptr<RunAgreement> agreement, std::shared_ptr<Scaffold> scaffold)
      : agreement_(std::move(agreement)), scaffold_(std::move(scaffold)) {}

  void after_create_session(Session& session, Coordinator& coordinator) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  void before_end(Session& session) override { meet(session); }
  void end(Session& session) override;
  void on_error(std::exception_ptr error) override;
  HookPlace place() const override { return HookPlace::kSaver; }
  std::string name() const override { return "RankSavesHook"; }

 private:
  void meet(Session& session);

  const std::shared_ptr<RunAgreement> agreement_;
  const std::shared_ptr<Scaffold> scaffold_;
};

}  // namespace crochet::inline v0::internal
