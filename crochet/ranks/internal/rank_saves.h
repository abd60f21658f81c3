// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crochet/checkpoint/saver/internal/joint_save.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/group/group.h"
#include "crochet/session/internal/rank_layout.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::internal {

class BackgroundSaver;

class GroupAgreement;

// The messages by which the ranks of a group save a state that they have together. The chief
// informs the others of each save; these take a snapshot of their parts, which is of the same step,
// and write it in the background. Nobody waits for messages while files are written.
class RankSaves final : public JointSave {
 public:
  // Requires: the agreement outlives this.
  RankSaves(GroupAgreement& agreement, std::shared_ptr<const RankLayout> layout)
      : agreement_(agreement), layout_(std::move(layout)) {}

  // In the chief.
  std::shared_ptr<Contributions> begin(const Saver& saver, const VariableSelection& selection,
                                       const std::string& prefix, Snapshot& snapshot) override;
  // See RunAgreement::meet_saves and finish_saves.
  void meet(Session& session, Saver& saver, int64_t step);
  void finish();

 private:
  void write_part(Session& session, Saver& saver, const std::string& message, int64_t step);

  GroupAgreement& agreement_;
  const std::shared_ptr<const RankLayout> layout_;
  std::shared_ptr<BackgroundSaver> background_;  // From this rank's first part on.
};

// Where a rank writes its part of a checkpoint, if the chief writes its own at `base`.
std::string part_prefix(const std::string& base, int rank);

}  // namespace crochet::inline v0::internal
