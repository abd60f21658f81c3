// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/retention.h"

#include <algorithm>
#include <cmath>

#include "crochet/base/error.h"

namespace crochet {
namespace {

constexpr double kSecondsPerHour = 3600;

}  // namespace

RetentionPolicy keep_newest(int n) {
  if (n < 1) throw InvalidArgumentError("keep_newest({}): expected 1 or more", n);
  return [n](const CheckpointRecord&, const RetentionContext& context) {
    return context.num_newer < static_cast<size_t>(n) ? Retention::kKeep : Retention::kRemove;
  };
}

RetentionPolicy keep_every_hours(double hours) {
  if (!(hours > 0)) throw InvalidArgumentError("keep_every_hours({}): expected more than 0", hours);
  return [seconds = hours * kSecondsPerHour](const CheckpointRecord& checkpoint,
                                             const RetentionContext& context) {
    return checkpoint.time - seconds >= context.last_preserved_time ? Retention::kPreserve
                                                                    : Retention::kRemove;
  };
}

RetentionPolicy keep_every_steps(int64_t n) {
  if (n < 1) throw InvalidArgumentError("keep_every_steps({}): expected 1 or more", n);
  return [n](const CheckpointRecord& checkpoint, const RetentionContext& context) {
    return checkpoint.step && *checkpoint.step / n > context.last_preserved_step / n
               ? Retention::kPreserve
               : Retention::kRemove;
  };
}

Retention combine(std::span<const RetentionPolicy> policies, const CheckpointRecord& checkpoint,
                  const RetentionContext& context) {
  Retention strongest = Retention::kRemove;
  for (const RetentionPolicy& policy : policies)
    strongest = std::max(strongest, policy(checkpoint, context));
  return strongest;
}

}  // namespace crochet
