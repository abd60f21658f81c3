// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "crochet/run/monitored_training_session.h"
#include "crochet/run/restore_options.h"

namespace crochet::inline v0::internal {

// The state that a program restored before its run.
struct EarlyRestore {
  RestoreReport report;
  // Variables and objects that were restored, and may have been changed since.
  std::set<std::string, std::less<>> names;
  // How the rest is restored: of another run's checkpoint, only what `only` selects.
  RestoreOptions options;
  bool is_own;  // False for a checkpoint of another run.
};

// With what the first session of a run begins.
struct TrainingStart {
  // Unless null, the chief continues from it: only state that was not restored then, the step and
  // the state of hooks, is read from the checkpoint.
  const EarlyRestore* early = nullptr;
  // The most steps that one run makes, if that is known: see CheckpointSaverHookOptions.
  std::optional<int64_t> steps_per_run = {};
  // For a group, unless null: the checkpoint that the chief's init_fn has restored, or "". Set in
  // the other ranks before theirs is called.
  std::string* chosen_from = nullptr;
  // See MonitoredSessionOptions.
  bool ends_if_finished = false;
  bool saves_on_error = false;
};

// As crochet::train().
RunReport train(const MonitoredTrainingSessionOptions& options, const TrainingStart& start,
                const std::function<void(MonitoredSession& session)>& body);

}  // namespace crochet::inline v0::internal
