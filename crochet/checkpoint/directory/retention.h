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
#include <vector>

namespace crochet {

// A checkpoint as retention sees it.
struct CheckpointRecord {
  std::string prefix = {};
  // Seconds since 1970-01-01 UTC at which it was saved; infinite if nobody knows.
  double time = 0;
  // From its name "<save_path>-<step>"; unset for another name.
  std::optional<int64_t> step = {};
  // What was measured with it, by name, as far as that is known by now.
  std::map<std::string, double> metrics = {};
  // Never removed, whatever the policies say.
  bool pinned = false;
  // A policy decided before that it stays for ever; no policy is asked again.
  bool preserved = false;
  // Published by a Saver: its sidecar is there and matches its index. No other one is ever removed.
  bool published = false;
  // Restored by this process, with all checksums.
  bool verified = false;
  // Its removal has begun: there is no index any more.
  bool gone = false;

  // As far as anybody knows without reading it.
  bool is_sound() const { return (published || verified) && !gone; }

  friend bool operator==(const CheckpointRecord&, const CheckpointRecord&) = default;
};

// What is known when a policy is asked about a checkpoint.
struct RetentionContext {
  // How many of the listed checkpoints that are sound are newer.
  size_t num_newer = 0;
  // Time and step of the checkpoint that was preserved last. Before the first one: the time at
  // which saving began, and step 0.
  double last_preserved_time = 0;
  int64_t last_preserved_step = 0;
  // All that are listed, oldest first.
  std::span<const CheckpointRecord> listed = {};
};

// What a policy wants for a checkpoint; the strongest of all policies' wishes counts.
enum class Retention {
  kRemove,    // It may go, as far as this policy is concerned.
  kHold,      // It stays for now, unless another policy preserves it.
  kPreserve,  // It stays for ever, and is listed no more.
  kKeep,      // It stays for now; the question will be asked again after the next save.
};

// Says what becomes of a checkpoint after a save. Policies are asked about the oldest listed
// checkpoint first, and combined: a checkpoint stays if any of them keeps it.
//
//   Saver saver({.max_to_keep = 3, .retention = {keep_every_steps(10'000)}});
//
// A function of its arguments, called from any thread.
using RetentionPolicy =
    std::function<Retention(const CheckpointRecord& checkpoint, const RetentionContext& context)>;

// Keeps the n newest. Throws: InvalidArgumentError for n below 1.
RetentionPolicy keep_newest(int n);
// Preserves a checkpoint if at least so many hours lie between it and the one preserved before.
// Throws: InvalidArgumentError unless hours are positive.
RetentionPolicy keep_every_hours(double hours);
// Preserves the first checkpoint at or after each multiple of n steps.
// Throws: InvalidArgumentError for n below 1.
RetentionPolicy keep_every_steps(int64_t n);

enum class Better { kLower, kHigher };

// The checkpoints with the best values of a metric, which a hook or an evaluator recorded for them.
struct KeepBest {
  std::string metric = {};
  // How many.
  int n = 1;
  Better better = Better::kLower;

  friend bool operator==(const KeepBest&, const KeepBest&) = default;
};

// Holds the n best of those that are listed; of equal ones the newer is better. One without the
// metric, or whose metric is NaN, is never among the best; a metric may come later than its
// checkpoint, as long as that is still there.
// Throws: InvalidArgumentError for n below 1 and a metric without a name.
RetentionPolicy keep_best(const KeepBest& best);

// The strongest wish of all policies; kRemove without any.
Retention combine(std::span<const RetentionPolicy> policies, const CheckpointRecord& checkpoint,
                  const RetentionContext& context);

}  // namespace crochet
