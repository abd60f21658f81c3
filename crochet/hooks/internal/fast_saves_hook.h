// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/saver/internal/background_saver.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/hooks/second_or_step_timer.h"
#include "crochet/training/internal/time_ledger.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0::internal {

struct FastSavesHookOptions {
  std::string checkpoint_dir;  // Of the run.
  CheckpointBasename basename;
  std::string fast_dir;
  std::shared_ptr<Saver> saver;  // Of the run.
  std::optional<int64_t> save_steps;
  std::optional<double> save_secs;
  SaveOverlapPolicy overlap;
  std::optional<int64_t> steps_per_run;
  Clock* clock = nullptr;
};

// Keeps the newest checkpoint of a run in memory as well, or on another fast disk: see
// CheckpointOptions::fast_dir. A failure is logged, and the run continues. Once the run has ended
// with a checkpoint in its own directory, the memory is free again.
class CROCHET_EXPORT FastSavesHook final : public SessionRunHook {
 public:
  explicit FastSavesHook(FastSavesHookOptions options);

  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator&) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues&) override;
  void end(Session&) override;
  void on_error(std::exception_ptr) override;
  HookPlace place() const override { return HookPlace::kSaver; }
  bool is_for_chief() const override { return true; }
  std::string name() const override { return "crochet"; }

 private:
  std::string own_save_path() const;
  void save(Session& session, int64_t step);
  void log_failed();
  // Once the run's own directory has as new a checkpoint.
  void remove_if_superseded();
  void finish();

  FastSavesHookOptions options_;
  SecondOrStepTimer timer_;
  std::string place_;
  std::string save_path_;                        // In the place.
  std::shared_ptr<Saver> saver_;                 // Of the place, from begin on.
  std::shared_ptr<void> locks_;                  // Of the place.
  std::unique_ptr<BackgroundSaver> background_;  // Null if the place cannot be used.
  Graph* graph_ = nullptr;
  bool has_failed_ = false;  // The last save.
};

}  // namespace crochet::inline v0::internal
