// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/directory/retention.h"

namespace crochet::inline v0 {

// One of the checkpoints in a directory:
//
//   crochet::load("runs/digits", CheckpointChoice::best("accuracy"), {{"model", model}});
class CROCHET_EXPORT CheckpointChoice {
 public:
  // The one with the largest step, from which a run resumes.
  static CheckpointChoice newest() { return {}; }
  static CheckpointChoice at_step(int64_t step);
  // The one with the best value of a metric that was recorded with it; of equal ones, the newest.
  // `better` may be unset for a metric that the run's keep_best names.
  static CheckpointChoice best(std::string metric, std::optional<Better> better = {});

  // Unset for the newest, and for the best.
  std::optional<int64_t> step() const { return step_; }
  // Empty unless it is the best by a metric.
  const std::string& metric() const { return metric_; }
  std::optional<Better> better() const { return better_; }
  bool is_newest() const { return !step_ && metric_.empty(); }

  friend bool operator==(const CheckpointChoice&, const CheckpointChoice&) = default;

 private:
  CheckpointChoice() = default;

  std::optional<int64_t> step_;
  std::string metric_;
  std::optional<Better> better_;
};

// "the newest checkpoint", "the checkpoint of step 1200", "the checkpoint with the best accuracy".
CROCHET_EXPORT std::string to_string(const CheckpointChoice& which);

}  // namespace crochet::inline v0
