// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/base/internal/export.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

// Evaluates outputs once, at the clean end of a run, and keeps their values.
//
//   auto accuracy = std::make_shared<FinalOpsHook>("accuracy");
//   Loop loop({.hooks = {accuracy, ...}});
//   ...
//   accuracy->final_ops_values().scalar<float>();
//
// If a signal asks the process to end, nothing is evaluated: the rest of the grace period
// is for the last checkpoint. Then, and after a run that failed, there are no values.
class CROCHET_EXPORT FinalOpsHook final : public SessionRunHook {
 public:
  // `final_ops` are outputs or names in any structure; they are run with `final_ops_feed_dict`.
  explicit FinalOpsHook(Fetches final_ops, Feeds final_ops_feed_dict = {});

  void begin(Graph& graph) override;
  // Throws what the evaluation throws. An OutOfRangeError or StopIteration is explained in the log:
  // final ops must not read training input.
  void end(Session& session) override;

  // The values in the structure of the final ops; false in a condition if there are none.
  const FetchValues& final_ops_values() const { return values_; }

 private:
  Fetches final_ops_;
  Feeds feeds_;
  FetchValues values_;
};

}  // namespace crochet::inline v0
