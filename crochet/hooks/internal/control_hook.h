// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/control/internal/control_files.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/io/file_system.h"
#include "crochet/journal/internal/journal.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0::internal {

// Has a run do what the commands `crochet stop`, `save`, `limit` and `status` ask for, through
// files in the directory of its checkpoints. Looks for a request before a step, at most once a
// second by the coarse clock, and answers it after that step. A limit holds for later lives of the
// run, until it is reached. Records them in the journal of the run, with its progress and the error
// with which it ends. Of the chief.
class CROCHET_EXPORT ControlHook final : public SessionRunHook {
 public:
  // Requires: `files` and `clock` outlive this. `journal` may be null.
  ControlHook(const std::string& directory, FileSystem& files, Clock& clock,
              std::shared_ptr<Journal> journal = {});
  ~ControlHook() override;

  // For the hook that saves: notices checkpoints.
  std::shared_ptr<CheckpointSaverListener> listener();

  void after_create_session(Session& session, Coordinator& coordinator) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  void on_error(std::exception_ptr error) override;
  bool is_for_chief() const override { return true; }
  std::string name() const override { return "crochet"; }

 private:
  class Listener;
  // With the first checkpoint of this step or a later one.
  struct StopWhenSaved {
    std::string why;
    int64_t from_step;
  };

  void look();
  bool is_time_to_look();
  // Requires: it is time to look.
  bool is_progress_due();
  void record_progress(int64_t step, const SessionRunContext& context);
  void carry_out(const ControlRequest& request, int64_t step, SessionRunContext& context);
  void accept_limit(const ControlRequest& request);
  // Why the run ends after this step; unset if it continues.
  std::optional<std::string> reached(int64_t step) const;
  std::string status(int64_t step) const;

  ControlFiles control_;
  Clock& clock_;  // Not owned; outlives this.
  const std::shared_ptr<Journal> journal_;
  const std::shared_ptr<Listener> listener_;
  Clock::TimePoint next_look_;
  Clock::TimePoint last_reading_;  // Of the clock.
  Clock::TimePoint next_progress_;
  int steps_to_reading_ = 1;
  std::optional<ControlRequest> request_;
  std::optional<RunLimit> limit_;
  bool is_time_over_ = false;  // As of the last look.
  bool knows_limit_ = false;   // It has been read.
  std::optional<StopWhenSaved> stops_when_saved_;
  int64_t first_step_ = 0;
  Clock::TimePoint start_;
};

}  // namespace crochet::inline v0::internal
