// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/checkpoint_choice.h"

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"

namespace crochet::inline v0 {

CheckpointChoice CheckpointChoice::at_step(int64_t step) {
  internal::check_at_least("CheckpointChoice::at_step", step, 0);
  CheckpointChoice which;
  which.step_ = step;
  return which;
}

CheckpointChoice CheckpointChoice::best(std::string metric, std::optional<Better> better) {
  if (metric.empty()) throw InvalidArgumentError("CheckpointChoice::best: the metric has no name");
  CheckpointChoice which;
  which.metric_ = std::move(metric);
  which.better_ = better;
  return which;
}

std::string to_string(const CheckpointChoice& which) {
  if (which.step()) return fmt::format("the checkpoint of step {}", *which.step());
  if (which.is_newest()) return "the newest checkpoint";
  if (!which.better()) return fmt::format("the checkpoint with the best {}", which.metric());
  return fmt::format("the checkpoint with the {} {}",
                     which.better() == Better::kLower ? "lowest" : "highest", which.metric());
}

}  // namespace crochet::inline v0
