// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/group/group.h"
#include "crochet/ranks/internal/rank_saves.h"
#include "crochet/ranks/internal/run_agreement.h"
#include "crochet/ranks/internal/save_proposal.h"
#include "crochet/ranks/ranks.h"
#include "crochet/session/internal/rank_layout.h"

namespace crochet::inline v0::internal {

// The agreement of a group of several ranks: the messages by which they restore the same
// checkpoint, make the same steps, recover together and end together.
//
// The ranks meet in rounds: after a session was created, after each n-th step, before it is saved
// if they have the state together, before a recovery, and at the end. In a round each rank says
// where it is and what it wants, and all come to the same conclusion. A rank that fails leaves the
// group instead, and so ends the round of the others. What is exchanged grows with the number of
// ranks, not with its square, while the ranks differ in nothing.
class GroupAgreement final : public RunAgreement {
 public:
  GroupAgreement(std::shared_ptr<Group> group, int64_t agree_every_n_steps, double timeout_secs,
                 std::shared_ptr<const RankLayout> layout);
  ~GroupAgreement() override;

  void check_same(const std::function<Fingerprint()>& fingerprint) override;
  std::vector<std::string> gather(const std::string& own) override;
  std::string share(const std::string& of_chief) override;
  std::optional<std::string> first_of(const std::string& own) override;
  std::string choose(const std::function<std::string()>& choose) override;
  void hold(StopState& stop) override { stop.hold(); }
  void start(std::optional<int64_t> step, std::optional<int64_t> last_step,
             const std::optional<StopRequest>& proposal, StopState& stop) override;
  void after_step(int64_t step, const std::optional<StopRequest>& proposal, SaveProposal& save,
                  StopState& stop) override;
  void end_data(Session& session) override;
  bool can_recover() const override { return !group_.is_lost(); }
  void recover(const std::exception_ptr& error) override;
  bool shares_state() const override { return layout_->is_shared(); }
  JointSave* joint_save() override;
  void meet_saves(Session& session, Saver& saver, int64_t step) override;
  void finish_saves() override;
  void finish(const std::function<int64_t()>& step, StopState& stop) override;
  void finished() override { group_.barrier(timeout_secs_); }
  void fail(const std::exception_ptr& error) noexcept override;

  // For RankSaves.
  double timeout_secs() const { return timeout_secs_; }
  // Becomes true if a rank is lost that may never write its part of a save.
  const std::shared_ptr<std::atomic<bool>>& lost() const { return lost_; }
  // After a step on which the ranks agree, where they have the state together: returns whether the
  // chief, which passes `saves`, begins to save. It then broadcasts to the others what they do;
  // the last broadcast is empty.
  bool begin_saves(bool saves);
  // The chief has begun to save, and has not said the last word.
  bool is_saving() const { return is_saving_; }
  // Called by the chief: sends the last word.
  void end_saves();

 private:
  enum class Point : int64_t { kStart, kStep, kRecovery, kEndOfData, kEnd };
  struct Report;
  // Of the first rank that makes it: most ranks report the same.
  struct RankReport;

  // The different reports of all ranks.
  std::vector<RankReport> meet(const Report& own);
  void check_points(const std::vector<RankReport>& reports, const Report& own);
  static SaveProposal save_of(const std::vector<RankReport>& reports);
  static std::optional<StopRequest> proposal_of(const std::vector<RankReport>& reports);
  // The signal of any rank, which is then this rank's, too; 0 without one.
  static int signal_of(const std::vector<RankReport>& reports);
  static void decide(const std::optional<StopRequest>& proposal, StopState& stop);
  static std::string describe(const Report& report);
  // Throws: AbortedError if the data of a rank ended, and other ranks have continued.
  void check_data(const std::vector<RankReport>& reports);
  // The ranks agree on this step.
  void agree_on(int64_t step, StopState& stop);
  bool is_agreement_due(int64_t step) const;

  Group& group_;
  const int64_t agree_every_n_steps_;
  const double timeout_secs_;
  const std::shared_ptr<const RankLayout> layout_;
  const std::shared_ptr<std::atomic<bool>> lost_ = std::make_shared<std::atomic<bool>>(false);
  bool has_started_ = false;
  bool recovery_is_agreed_ = false;
  bool is_saving_ = false;                   // In the chief.
  int64_t agreed_step_ = 0;                  // The step of the last round.
  std::optional<std::string> pending_save_;  // Requested since then.
  std::optional<int64_t> last_step_;         // The first at which a hook of any rank stops.
  std::optional<int64_t> ends_at_;           // The last step for which all ranks have data.
  bool data_has_ended_ = false;              // In all ranks at once.
  bool has_failed_ = false;
  RankSaves saves_;
};

}  // namespace crochet::inline v0::internal
