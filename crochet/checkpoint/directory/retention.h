// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0 {

// A checkpoint, as seen by retention policies.
struct CheckpointRecord {
  std::string prefix = {};
  // The time at which it was saved, in seconds since 1970-01-01 UTC; infinite if unknown.
  double time = 0;
  // From its name "<save_path>-<step>"; unset for another name.
  std::optional<int64_t> step = {};
  // Metrics recorded for it so far, by name.
  std::map<std::string, double> metrics = {};
  // Never removed, whatever the policies decide.
  bool pinned = false;
  // A policy has already decided to keep it forever; no policy is asked again.
  bool preserved = false;
  // Published by a Saver: its sidecar exists and matches its index. No other one is ever removed.
  bool published = false;
  // Restored by this process, with all checksums.
  bool verified = false;
  // Its removal has begun: it no longer has an index.
  bool gone = false;

  // As far as is known without reading it.
  bool is_sound() const { return (published || verified) && !gone; }

  friend bool operator==(const CheckpointRecord&, const CheckpointRecord&) = default;
};

// The context in which a policy is asked about a checkpoint.
struct RetentionContext {
  // The number of newer listed checkpoints that are sound.
  size_t num_newer = 0;
  // Time and step of the last preserved checkpoint. Before the first one: the time at which saving
  // began, and step 0.
  double last_preserved_time = 0;
  int64_t last_preserved_step = 0;
  // All listed checkpoints, oldest first.
  std::span<const CheckpointRecord> listed = {};
};

// A policy's decision about a checkpoint; the strongest decision of all policies counts.
enum class Retention {
  kRemove,    // This policy does not need it.
  kHold,      // Keep it for now, unless another policy preserves it.
  kPreserve,  // Keep it forever, and no longer list it.
  kKeep,      // Keep it for now; the policy is asked again after the next save.
};

// Decides about a checkpoint after a save. Policies are asked about the oldest listed checkpoint
// first, and combined: a checkpoint is kept if any of them keeps it.
//
//   Saver saver({.max_to_keep = 3, .retention = {keep_every_steps(10'000)}});
//
// A function of its arguments, called from any thread.
using RetentionPolicy =
    std::function<Retention(const CheckpointRecord& checkpoint, const RetentionContext& context)>;

// Keeps the n newest. Throws: InvalidArgumentError for n below 1.
CROCHET_EXPORT RetentionPolicy keep_newest(int n);
// Preserves a checkpoint if at least `hours` hours have passed since the last preserved one.
// Throws: InvalidArgumentError unless `hours` is positive.
CROCHET_EXPORT RetentionPolicy keep_every_hours(double hours);
// Preserves the first checkpoint at or after each multiple of n steps.
// Throws: InvalidArgumentError for n below 1.
CROCHET_EXPORT RetentionPolicy keep_every_steps(int64_t n);

enum class Better { kLower, kHigher };

// The checkpoints with the best values of a metric, which a hook or an evaluator recorded for them.
struct KeepBest {
  std::string metric = {};
  // The number of checkpoints.
  int n = 1;
  Better better = Better::kLower;

  friend bool operator==(const KeepBest&, const KeepBest&) = default;
};

// Holds the n best of the listed checkpoints; of equal ones the newer is better. A checkpoint
// without the metric, or with a NaN, is never among the best; a metric may be recorded later than
// its checkpoint, as long as that still exists.
// Throws: InvalidArgumentError for n below 1 and a metric without a name.
CROCHET_EXPORT RetentionPolicy keep_best(const KeepBest& best);

// The strongest decision of all policies; kRemove without any.
CROCHET_EXPORT Retention combine(std::span<const RetentionPolicy> policies,
                                 const CheckpointRecord& checkpoint,
                                 const RetentionContext& context);

}  // namespace crochet::inline v0
