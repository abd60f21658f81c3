// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/monitor/internal/group_run.h"
#include "crochet/monitor/scaffold.h"
#include "crochet/monitor/session_run_hook.h"
#include "crochet/session/rank_state.h"

namespace crochet::inline v0 {

class BackgroundSaver;

namespace internal {

// The messages by which the ranks of a group save a state that they have together (RankState). The
// chief announces each save to the others; these take a snapshot of their parts, which is of the
// same step, and write it in the background. Nobody waits for messages while files are written.
class CROCHET_EXPORT RankSaves {
 public:
  // Requires: the graph outlives this, and has a RankState.
  RankSaves(Graph& graph, std::shared_ptr<GroupRun> run);
  // Finishes the parts that are being written.
  ~RankSaves();
  RankSaves(const RankSaves&) = delete;
  RankSaves& operator=(const RankSaves&) = delete;

  // Called by every rank after the same step, by the chief once it has made all its saves: the
  // others take part in these.
  // Throws: what GroupRun's functions throw; the error of a snapshot.
  void meet(Session& session, Saver& saver, int64_t step);
  // True if the ranks are known to be after the same step.
  bool is_agreed() const { return state_->is_agreed(); }
  // Returns once all parts of this rank are written, or have failed, which is logged.
  void finish();

 private:
  void write_part(Session& session, Saver& saver, const std::string& message, int64_t step);

  // In the chief.
  std::vector<RankState::Contribution> announce(const std::string& prefix,
                                                const std::vector<std::string>& parts);

  const std::shared_ptr<GroupRun> run_;
  Group& group_;
  const double timeout_secs_;
  const std::shared_ptr<RankState> state_;
  std::shared_ptr<BackgroundSaver> background_;  // From this rank's first part on.
};

// Lets a rank take part in the saves of a group, after each step on which the ranks agree. Comes
// after all savers.
class CROCHET_EXPORT RankSavesHook final : public SessionRunHook {
 public:
  RankSavesHook(std::shared_ptr<GroupRun> run, std::shared_ptr<Scaffold> scaffold)
      : run_(std::move(run)), scaffold_(std::move(scaffold)) {}

  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  void before_end(Session& session) override { meet(session); }
  void end(Session& session) override;
  void on_error(std::exception_ptr error) override;
  HookPlace place() const override { return HookPlace::kSaver; }
  std::string name() const override { return "RankSavesHook"; }

 private:
  void meet(Session& session);

  const std::shared_ptr<GroupRun> run_;
  const std::shared_ptr<Scaffold> scaffold_;
  std::shared_ptr<RankSaves> saves_;  // From begin() to the end.
};

}  // namespace internal
}  // namespace crochet::inline v0
