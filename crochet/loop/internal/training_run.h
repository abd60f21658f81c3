// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/loop/internal/run_restore.h"
#include "crochet/loop/loop_options.h"
#include "crochet/loop/run_report.h"
#include "crochet/ranks/internal/run_agreement.h"
#include "crochet/summary/summary_writer.h"
#include "crochet/training/monitored_session.h"
#include "crochet/training/scaffold.h"

namespace crochet::inline v0::internal {

class RunJournal;

// What a Loop and train() have in common: their options, checked, and with what a run begins.
struct TrainingRun {
  Graph& graph;  // Not owned; outlives the run.
  std::string master = {};
  bool is_chief = true;
  CheckpointOptions checkpoint = {};
  SummaryOptions summaries = {};
  bool has_last_summaries = false;
  std::shared_ptr<RunAgreement> agreement = agreement_alone();
  // Its saver is used; CheckpointOptions::saver is for one that it lacks.
  std::shared_ptr<Scaffold> scaffold = {};
  HookList hooks = {};
  HookList chief_only_hooks = {};
  SessionConfig config = {};
  double max_wait_secs = 7200;
  double recovery_wait_secs = 30;
  int max_recoveries = 3;
  // Called before each recovery. Empty: a recovery is always possible.
  std::function<bool()> can_recover = {};
  RestoreOptions restore = {};
  EndOptions ending = {};
  FileSystem* files = nullptr;
  Clock* clock = nullptr;
  // Those that differ from the defaults; for the journal.
  std::vector<Hyperparameter> options = {};
  std::vector<Hyperparameter> hyperparameters = {};

  // Unless null, the chief continues from it: only state that was not restored then, the step and
  // the state of hooks, is read from the checkpoint.
  const EarlyRestore* early = nullptr;
  // The most steps that one run makes, if that is known: see CheckpointSaverHookOptions.
  std::optional<int64_t> steps_per_run = {};
  // See MonitoredSessionOptions.
  bool saves_on_error = false;
};

// A run, from its first session to its report. Destroyed without finish(), it counts as failed.
class StartedRun {
 public:
  // Throws: what the constructor of MonitoredSession does.
  explicit StartedRun(TrainingRun run);
  ~StartedRun();
  StartedRun(const StartedRun&) = delete;
  StartedRun& operator=(const StartedRun&) = delete;

  // Null if a signal ended the run before there was one.
  MonitoredSession* session() const { return session_.get(); }
  // The program may have changed its state since the last step: finish() saves it, though that step
  // may be saved already.
  void record_changed_state();
  // The same, and it has failed there: that step is not saved.
  void record_failure_between_steps();
  // Closes the session. Throws: as MonitoredSession::close().
  RunReport finish();

 private:
  void close_session();

  const TrainingRun run_;
  const std::shared_ptr<Scaffold> scaffold_;
  // Null without a directory, and in other ranks than the chief.
  const std::shared_ptr<RunJournal> journal_;
  std::optional<AttachedAgreement> attached_;
  HookList hooks_;
  RunReport report_;
  std::unique_ptr<MonitoredSession> session_;
};

// That of a run with these options.
std::shared_ptr<RunAgreement> agreement_for(const RankOptions& options, Graph& graph);

// As crochet::train(), in a rank that fails with what this throws.
RunReport train(TrainingRun run, const std::function<void(MonitoredSession& session)>& body);

}  // namespace crochet::inline v0::internal
