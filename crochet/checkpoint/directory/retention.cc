// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/retention.h"

#include <algorithm>
#include <cmath>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"

namespace crochet::inline v0 {
namespace {

constexpr double kSecondsPerHour = 3600;

// Unset for a checkpoint that cannot be compared.
std::optional<double> metric_of(const CheckpointRecord& checkpoint, const std::string& name) {
  const auto found = checkpoint.metrics.find(name);
  if (found == checkpoint.metrics.end() || std::isnan(found->second)) return std::nullopt;
  return found->second;
}

}  // namespace

RetentionPolicy keep_newest(int n) {
  internal::check_at_least("keep_newest: n", n, 1);
  return [n](const CheckpointRecord&, const RetentionContext& context) {
    return context.num_newer < static_cast<size_t>(n) ? Retention::kKeep : Retention::kRemove;
  };
}

RetentionPolicy keep_every_hours(double hours) {
  internal::check_above("keep_every_hours: hours", hours, 0);
  return [seconds = hours * kSecondsPerHour](const CheckpointRecord& checkpoint,
                                             const RetentionContext& context) {
    return checkpoint.time - seconds >= context.last_preserved_time ? Retention::kPreserve
                                                                    : Retention::kRemove;
  };
}

RetentionPolicy keep_every_steps(int64_t n) {
  internal::check_at_least("keep_every_steps: n", n, 1);
  return [n](const CheckpointRecord& checkpoint, const RetentionContext& context) {
    return checkpoint.step && *checkpoint.step / n > context.last_preserved_step / n
               ? Retention::kPreserve
               : Retention::kRemove;
  };
}

RetentionPolicy keep_best(const KeepBest& best) {
  if (best.metric.empty()) throw InvalidArgumentError("keep_best: the metric has no name");
  internal::check_at_least("keep_best: n", best.n, 1);
  return [best](const CheckpointRecord& checkpoint, const RetentionContext& context) {
    const std::optional<double> value = metric_of(checkpoint, best.metric);
    if (!value) return Retention::kRemove;
    int num_better = 0;
    bool is_newer = false;  // True once `other` is newer than this checkpoint.
    for (const CheckpointRecord& other : context.listed) {
      if (other.prefix == checkpoint.prefix) {
        is_newer = true;
      } else if (const auto rival = metric_of(other, best.metric); rival && other.is_sound()) {
        const bool is_beyond = best.better == Better::kLower ? *rival < *value : *rival > *value;
        if (is_beyond || (is_newer && *rival == *value)) ++num_better;
      }
    }
    return num_better < best.n ? Retention::kHold : Retention::kRemove;
  };
}

Retention combine(std::span<const RetentionPolicy> policies, const CheckpointRecord& checkpoint,
                  const RetentionContext& context) {
  Retention strongest = Retention::kRemove;
  for (const RetentionPolicy& policy : policies)
    strongest = std::max(strongest, policy(checkpoint, context));
  return strongest;
}

}  // namespace crochet::inline v0
