// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/checkpoint/saver/save_policy.h"
#include "crochet/hooks/metric_source.h"

namespace crochet::inline v0 {

// How a run saves, whatever it saves and whenever.
struct SavingOptions {
  // Metrics of evaluations, for SaverOptions::keep_best: recorded with the checkpoint of the step
  // that they belong to, even if they arrive later. A value of the graph or loop that keep_best
  // names needs no source.
  std::vector<MetricSource> metrics = {};
  // What to do with a save that is due while another one is being written, and with one that fails.
  // CheckpointSaverHook's saves never overlap, and it throws errors.
  SaveOverlapPolicy overlap = SaveOverlapPolicy::kWait;
  SaveErrorPolicy on_error = SaveErrorPolicy::kContinue;
  // The most seconds the run may take for its last saves, from the signal that ends it, or else
  // from its end; choose less than the grace period after SIGTERM. The last save is started only if
  // it is expected to finish in time. If they take longer, the run throws a DeadlineExceededError
  // that names what is unsaved (see AsyncCheckpointSaverHook). Unset: no limit.
  std::optional<double> deadline_secs = {};
  // Whether to lock the directories that checkpoints are written to, so that a second run in one of
  // them is an error. false only for a file system that has no locks: then nothing else may write
  // there.
  bool lock_directory = true;
};

namespace internal {

// Throws: InvalidArgumentError, which names the option by `path`, for a negative deadline, and as
// check_metrics().
CROCHET_EXPORT void check_options(const SavingOptions& options, const std::string& path);

}  // namespace internal
}  // namespace crochet::inline v0
