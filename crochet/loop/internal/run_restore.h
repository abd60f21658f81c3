// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/loop/loop_options.h"
#include "crochet/ranks/internal/run_agreement.h"
#include "crochet/session/session.h"
#include "crochet/training/session_creator.h"

namespace crochet::inline v0::internal {

// The checkpoint from which a run starts.
struct StartPoint {
  std::string prefix = {};  // Empty if the run starts afresh.
  bool is_own = true;       // False for a checkpoint of another run.
};

// A session, and the checkpoint from which it starts.
struct StartedSession {
  CreatedSession created = {};
  bool is_own = true;
};

// The state that a program restored before its run.
struct EarlyRestore {
  RestoreReport report;
  bool is_own;
  // Variables and objects that were restored, and may have been changed since.
  std::set<std::string, std::less<>> names;
};

// What restores a new session: RecoverSessionOptions::restore.
using RestoreSession = decltype(RecoverSessionOptions::restore);
// Creates a session that a given function restores.
using CreateSession = std::function<CreatedSession(const RestoreSession& restore)>;

// From which checkpoint a run starts. Loop::restore(), the first session of a run and those of its
// recoveries all begin here.
class RunRestore {
 public:
  // Requires: the scaffold has a saver.
  RunRestore(std::shared_ptr<Scaffold> scaffold, const CheckpointOptions& checkpoint,
             RestoreOptions options);

  // Creates a session from the newest of the run's own checkpoints or, if it has none yet, from
  // what RestoreOptions::from selects.
  //
  // The chief chooses, and other ranks restore the same. If one of them finds the chosen checkpoint
  // damaged, of which it may read other bytes than the chief, the chief chooses another one.
  // Throws: what `create` throws; as RunAgreement::choose.
  StartedSession start(RunAgreement& agreement, const CreateSession& create) const;

  // Restores what an early restore left: the step, and the state of hooks. Throws: as
  // Saver::restore.
  RestoreReport finish(Session& session, const EarlyRestore& early) const;

  // The next start is from the newest of the run's own checkpoints of this step or an earlier one,
  // or else from the oldest.
  void go_back_to(int64_t step) const;

  // True if the run has a checkpoint of its own.
  bool has_checkpoint() const;

 private:
  // Calls `create`, in which the saver chooses.
  StartedSession choose(const CreateSession& create) const;
  // Restores the checkpoint that the chief has chosen.
  std::optional<RestoreReport> follow(Session& session, const StartPoint& point,
                                      const std::function<void()>& initialize) const;
  // Restores a checkpoint of another run that is chosen already. For `is_left`, see restore_from().
  RestoreReport restore_other(Session& session, const std::string& prefix,
                              const std::function<bool(std::string_view name)>& is_left = {}) const;

  const std::shared_ptr<Scaffold> scaffold_;
  const std::string dir_;  // Of the run's own checkpoints; empty: none.
  const CheckpointBasename basename_;
  const RestoreOptions options_;
};

}  // namespace crochet::inline v0::internal
