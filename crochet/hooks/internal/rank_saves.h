// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "crochet/base/export.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/group/group.h"
#include "crochet/monitor/scaffold.h"
#include "crochet/monitor/session_run_hook.h"

namespace crochet::inline v0 {

class BackgroundSaver;

namespace internal {

class RankState;

// The messages by which the ranks of a group save a state that they have together (RankState). The
// chief announces each save to the others; these take a snapshot of their parts, which is of the
// same step, and write it in the background. Nobody waits for messages while files are written.
class CROCHET_EXPORT RankSaves {
 public:
  // Requires: the graph outlives this, and has a RankState.
  RankSaves(Graph& graph, std::shared_ptr<Group> group, double timeout_secs);
  // Finishes the parts that are being written.
  ~RankSaves();
  RankSaves(const RankSaves&) = delete;
  RankSaves& operator=(const RankSaves&) = delete;

  // Called by every rank after the same step, by the chief once it has made all its saves: the
  // others take part in these.
  // Throws: what Group's calls throw; the error of a snapshot.
  void meet(Session& session, Saver& saver, int64_t step);
  // Returns once all parts of this rank are written, or have failed, which is logged.
  void finish();

 private:
  void write_part(Session& session, Saver& saver, const std::string& message, int64_t step);

  const std::shared_ptr<Group> group_;
  const double timeout_secs_;
  const std::shared_ptr<RankState> state_;
  std::shared_ptr<BackgroundSaver> background_;  // From this rank's first part on.
};

// Lets a rank take part in the saves of a group, after each step on which the ranks agree. Comes
// after all savers.
class CROCHET_EXPORT RankSavesHook final : public SessionRunHook {
 public:
  RankSavesHook(std::shared_ptr<Group> group, std::shared_ptr<Scaffold> scaffold,
                double timeout_secs)
      : group_(std::move(group)), scaffold_(std::move(scaffold)), timeout_secs_(timeout_secs) {}

  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  void end(Session& session) override;
  void on_error(std::exception_ptr error) override;
  HookPlace place() const override { return HookPlace::kSaver; }
  std::string name() const override { return "RankSavesHook"; }

 private:
  void meet(Session& session);

  const std::shared_ptr<Group> group_;
  const std::shared_ptr<Scaffold> scaffold_;
  const double timeout_secs_;
  std::shared_ptr<RankSaves> saves_;  // From begin() to the end.
};

}  // namespace internal
}  // namespace crochet::inline v0
