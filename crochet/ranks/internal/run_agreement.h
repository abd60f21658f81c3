// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/saver/internal/joint_save.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/group/group.h"
#include "crochet/ranks/internal/save_proposal.h"
#include "crochet/ranks/ranks.h"
#include "crochet/session/graph.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::internal {

// What all ranks must have in common: names and values.
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

// What the ranks of a run agree on: the checkpoint from which they start, whether they stop or save
// after a step, what each contributes to a checkpoint, and the end. A program that runs alone
// agrees with itself: then every call returns at once what it was given.
//
// Every rank makes the same calls in the same order. All but fail() throw what the calls of a group
// throw, and what is said here of ranks that differ.
class CROCHET_EXPORT RunAgreement {
 public:
  virtual ~RunAgreement() = default;
  RunAgreement(const RunAgreement&) = delete;
  RunAgreement& operator=(const RunAgreement&) = delete;

  // True if there is no other rank.
  bool is_alone() const { return is_alone_; }
  // True in one rank: it chooses checkpoints, saves, and writes curves.
  bool is_chief() const { return !group_ || group_->is_chief(); }
  // Null if the program was given none.
  const std::shared_ptr<Group>& group() const { return group_; }

  // Compares the fingerprints of all ranks. Throws: InvalidArgumentError that names a rank and what
  // differs.
  virtual void check_same(const std::function<Fingerprint()>& fingerprint) = 0;
  // The texts of all ranks, by rank, in the chief; nothing in the others.
  virtual std::vector<std::string> gather(const std::string& own) = 0;
  // The text of the chief, in every rank.
  virtual std::string share(const std::string& of_chief) = 0;
  // The first of the texts that is not empty, with its rank; unset if all are empty.
  virtual std::optional<std::string> first_of(const std::string& own) = 0;

  // What `choose` returns in the chief, in every rank. An AbortedError or UnavailableError of
  // `choose` makes all ranks recover.
  virtual std::string choose(const std::function<std::string()>& choose) = 0;

  // From now on, what asks for a stop only proposes it.
  virtual void hold(StopState& stop) = 0;
  // After the creation of a session at `step`, with the last step that this rank's hooks know.
  // Decides on a stop that a rank proposes before the first step. Throws: FailedPreconditionError
  // if the ranks are not at the same step, or count none.
  virtual void start(std::optional<int64_t> step, std::optional<int64_t> last_step,
                     const std::optional<StopRequest>& proposal, StopState& stop) = 0;
  // After a step, before it is saved: decides on a stop that a rank proposes. `proposal` and `save`
  // are those of this rank; `save` becomes that of all ranks: saved if one asks for it, unless one
  // rejects it. Until the ranks agree, a request waits. Throws: AbortedError if another rank
  // recovers; FailedPreconditionError, in all ranks, if they are not at the same point.
  virtual void after_step(int64_t step, const std::optional<StopRequest>& proposal,
                          SaveProposal& save, StopState& stop) = 0;
  // True if all ranks are known to be after the same step.
  bool is_agreed() const { return is_agreed_; }
  // True if the ranks are at the step at which the data of one of them ended: none makes another.
  bool is_past_the_end() const { return is_past_the_end_; }
  // The data of this rank ended after the session's step. Returns if it ended in all ranks at once.
  // Otherwise all go back to a checkpoint, to end together at that step: throws the AbortedError of
  // that recovery in all ranks.
  virtual void end_data(Session& session) = 0;

  virtual bool can_recover() const = 0;
  // Before this rank recovers from `error`. Throws: as after_step().
  virtual void recover(const std::exception_ptr& error) = 0;

  // True if several ranks have the state together.
  virtual bool shares_state() const = 0;
  // Through which a save of the chief gets the parts of the others; null if it needs none.
  virtual JointSave* joint_save() = 0;
  // Called by every rank after the same step, by the chief once it has made all its saves: the
  // others take part in these. Throws: the error of a snapshot.
  virtual void meet_saves(Session& session, Saver& saver, int64_t step) = 0;
  // Returns once all parts of this rank are written, or have failed, which is logged.
  virtual void finish_saves() = 0;

  // This rank makes no further step after that which `step` returns, for the reason that `stop`
  // has.
  virtual void finish(const std::function<int64_t()>& step, StopState& stop) = 0;
  // The signal that asks a process to end, on which the ranks agreed in finish(); 0: none.
  int ending_signal() const { return ending_signal_; }
  // The hooks of this rank have ended without an error.
  virtual void finished() = 0;
  // This rank fails with `error`, and leaves the others.
  virtual void fail(const std::exception_ptr& error) noexcept = 0;
  // Calls `call`; this rank fails with what that throws.
  template <typename Call>
  std::invoke_result_t<Call&> as_rank(Call call) {
    try {
      return call();
    } catch (...) {
      fail(std::current_exception());
      throw;
    }
  }

 protected:
  explicit RunAgreement(std::shared_ptr<Group> group)
      : group_(std::move(group)), is_alone_(!group_ || group_->size() == 1) {}

  bool is_agreed_ = true;
  bool is_past_the_end_ = false;
  int ending_signal_ = 0;

 private:
  const std::shared_ptr<Group> group_;
  const bool is_alone_;
};

// Of a graph's runs as a rank of `group`, or alone if that is null or has no other rank. The graph
// learns its rank. `agree_every_n_steps` and `timeout_secs` are those of RankOptions.
CROCHET_EXPORT std::shared_ptr<RunAgreement> make_agreement(std::shared_ptr<Group> group,
                                                            int64_t agree_every_n_steps,
                                                            double timeout_secs, Graph& graph);
CROCHET_EXPORT std::shared_ptr<RunAgreement> agreement_alone();

// That of the run that the graph makes now, for hooks; never null.
CROCHET_EXPORT std::shared_ptr<RunAgreement> agreement_of(const Graph& graph);

// Makes an agreement known to hooks during a run.
class CROCHET_EXPORT AttachedAgreement {
 public:
  // Requires: the graph outlives this.
  AttachedAgreement(Graph& graph, std::shared_ptr<RunAgreement> agreement);
  ~AttachedAgreement();
  AttachedAgreement(const AttachedAgreement&) = delete;
  AttachedAgreement& operator=(const AttachedAgreement&) = delete;

 private:
  struct Place;
  friend std::shared_ptr<RunAgreement> agreement_of(const Graph& graph);

  std::shared_ptr<Place> place_;
};

}  // namespace crochet::inline v0::internal
