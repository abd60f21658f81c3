// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/checkpoint/saver/save_policy.h"
#include "crochet/hooks/async_checkpoint_saver_hook.h"
#include "crochet/hooks/checkpoint_saver_listener.h"
#include "crochet/hooks/metric_source.h"
#include "crochet/monitor/hook_list.h"
#include "crochet/monitor/scaffold.h"

namespace crochet {

// Intervals as the front doors take them: unset is the default, 0 is off. Of a pair,
// one given switches the other's default off.
struct DefaultHooksOptions {
  // False: the user's hooks and no others; another process saves and writes summaries.
  bool is_chief = true;
  HookList chief_only_hooks = {};
  std::string checkpoint_dir = {};
  std::string checkpoint_basename = "model.ckpt";
  std::optional<int64_t> save_checkpoint_steps = {};
  std::optional<double> save_checkpoint_secs = {};  // Default: 600.
  std::vector<std::shared_ptr<CheckpointSaverListener>> saving_listeners = {};
  std::vector<MetricSource> checkpoint_metrics = {};
  // What becomes of a save that is due while another one is being written, and of one that cannot
  // be written.
  SaveOverlapPolicy save_overlap = SaveOverlapPolicy::kWait;
  SaveErrorPolicy on_save_error = SaveErrorPolicy::kContinue;
  // Where checkpoints go that cannot be written into checkpoint_dir, and are restored from, too: on
  // another disk, of this run alone. Empty: nowhere.
  std::string fallback_dir = {};
  // How long the run may take to save what there is, from the signal that ends it, or from its
  // end: less than the time that SIGTERM leaves. What does not fit in is left, and the run
  // throws a DeadlineExceededError (see AsyncCheckpointSaverHook). Unset: as long as it takes.
  std::optional<double> deadline_secs = {};
  std::string summary_dir = {};                      // Default: checkpoint_dir.
  std::optional<int64_t> save_summaries_steps = {};  // Default: 100.
  std::optional<double> save_summaries_secs = {};
  std::optional<int64_t> log_step_count_steps = {};  // Default: 100.
  // The operating system's, and the machine's, if null. Not owned.
  FileSystem* files = nullptr;
  Clock* clock = nullptr;
};

// The hooks of a run, in their order: the chief's own, steps per second and summaries (if there
// is a directory for them), those of the user, the saver, and those that guard it.
struct WiredHooks {
  HookList hooks;
  std::shared_ptr<AsyncCheckpointSaverHook> saver;  // Null if nothing is to be saved.
};

// Throws: InvalidArgumentError for a negative interval, or two of a pair.
WiredHooks wire_default_hooks(const DefaultHooksOptions& options, const HookList& users_hooks,
                              std::shared_ptr<Scaffold> scaffold);

}  // namespace crochet
