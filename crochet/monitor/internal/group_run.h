// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/group/group.h"
#include "crochet/monitor/internal/save_proposal.h"
#include "crochet/monitor/stop_request.h"

namespace crochet::inline v0::internal {

// Something that all ranks must have in common: what it is, and its value.
using Fact = std::pair<std::string, std::string>;

// One rank's part of a run of several: the messages by which the ranks restore the same checkpoint,
// make the same steps, recover together and end together.
//
// The ranks meet in rounds: after a session was created, after each n-th step, before it is saved
// if they have the state together, before a recovery, and at the end. In a round each rank says
// where it is and what it wants, and all come to the same conclusion. A rank that fails leaves the
// group instead, and so ends the round of the others.
//
// Every function but fail() throws: what Group's calls throw; an AbortedError if another rank
// recovers; a FailedPreconditionError, in all ranks, if the ranks are not at the same point.
class CROCHET_EXPORT GroupRun {
 public:
  GroupRun(std::shared_ptr<Group> group, int64_t agree_every_n_steps, double timeout_secs);

  Group& group() const { return *group_; }
  double timeout_secs() const { return timeout_secs_; }

  // Compares facts of all ranks. Throws: InvalidArgumentError that names a rank and what differs.
  void check_same(const std::vector<Fact>& facts);

  // What `choose` returns in the chief, in every rank. An AbortedError or UnavailableError of
  // `choose` makes all ranks recover.
  std::string choose(const std::function<std::string()>& choose);

  // After the creation of a session at `step`, with the last step that this rank's hooks know.
  // Decides on a stop that a rank proposes before the first step.
  void start(int64_t step, std::optional<int64_t> last_step, StopState& stop);
  // After a step, before it is saved: decides on a stop that a rank proposes. `proposal` and `save`
  // are those of this rank; `save` becomes that of all ranks: saved if one asks for it, unless one
  // rejects it. Returns whether the ranks have agreed on this step; otherwise a request waits until
  // they do.
  bool after_step(int64_t step, const std::optional<StopRequest>& proposal, SaveProposal& save,
                  StopState& stop);
  // After a step on which the ranks agree, where they have the state together: returns whether the
  // chief, which passes `saves`, begins to save. It then broadcasts to the others what they do;
  // the last broadcast is empty.
  bool begin_saves(bool saves);
  // The chief has begun to save, and has not said the last word.
  bool is_saving() const { return is_saving_; }
  // Called by the chief: sends the last word.
  void end_saves();
  // Before this rank recovers from `error`.
  void recover(const std::exception_ptr& error);
  // The data of this rank ended after `step`. Returns if it ended in all ranks at once. Otherwise
  // all go back to a checkpoint, to end together at that step: throws the AbortedError of that
  // recovery in all ranks.
  void end_data(int64_t step);
  // True if the ranks are at the step at which the data of one of them ended: none makes another.
  bool is_past_the_end() const { return ends_at_ && agreed_step_ >= *ends_at_; }
  // This rank makes no further step. Returns the signal that asks a process to end, or 0.
  int finish(int64_t step, const std::string& reason);
  // The hooks of this rank have ended without an error.
  void finished();
  // This rank fails with `error`.
  void fail(const std::exception_ptr& error) noexcept;

 private:
  enum class Point : int64_t { kStart, kStep, kRecovery, kEndOfData, kEnd };
  struct Report;

  // The reports of all ranks.
  std::vector<Report> meet(const Report& own);
  void check_points(const std::vector<Report>& reports, const Report& own);
  static SaveProposal save_of(const std::vector<Report>& reports);
  static std::optional<StopRequest> proposal_of(const std::vector<Report>& reports);
  // The signal of any rank, which is then this rank's, too; 0 without one.
  static int signal_of(const std::vector<Report>& reports);
  static void decide(const std::optional<StopRequest>& proposal, StopState& stop);
  static std::string describe(const Report& report);
  // Throws: AbortedError if the data of a rank ended, and other ranks have continued.
  void check_data(const std::vector<Report>& reports);
  void decide_end_of_data(StopState& stop) const;
  bool is_agreement_due(int64_t step) const;

  const std::shared_ptr<Group> group_;
  const int64_t agree_every_n_steps_;
  const double timeout_secs_;
  bool has_started_ = false;
  bool recovery_is_agreed_ = false;
  bool is_saving_ = false;                   // In the chief.
  int64_t agreed_step_ = 0;                  // The step of the last round.
  std::optional<std::string> pending_save_;  // Requested since then.
  std::optional<int64_t> last_step_;         // The first at which a hook of any rank stops.
  std::optional<int64_t> ends_at_;           // The last step for which all ranks have data.
  std::optional<int> ending_signal_;         // Once the data of all ranks has ended.
};

}  // namespace crochet::inline v0::internal
