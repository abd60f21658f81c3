// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/hooks/internal/periodic_hook.h"

namespace crochet::inline v0 {

namespace internal {
class ProgramValues;
class RunAgreement;
}  // namespace internal

struct ReplicaCheckHookOptions {
  int64_t every_n_steps = 1000;
  // Which of the values that all ranks have in common are compared, by their names in checkpoints.
  NamePatterns values = true;
  // How often the run goes back to a checkpoint of a step at which the ranks agreed, before it ends
  // with an error. Counted from the last step at which they agreed.
  int64_t max_rollbacks = 0;
};

// Compares what all ranks of a group should have in common, such as the weights of data-parallel
// training, by checksums. A difference means that a processor or its memory has computed something
// wrong, that ranks drew different random numbers, or that a synchronisation is missing. The error
// names the first value that differs, and the ranks that differ from most others:
//
//   Loop loop({.checkpoint = {.dir = "runs/x"},
//              .ranks = {.group = group},
//              .hooks = {ReplicaCheckHook({.every_n_steps = 500})}});
//
// Values of which each rank has its own, or a part (per_rank, sharded), are left out. A program
// that runs alone compares nothing.
class CROCHET_EXPORT ReplicaCheckHook final : public internal::PeriodicHook {
 public:
  // Throws: InvalidArgumentError for options that are out of range.
  explicit ReplicaCheckHook(ReplicaCheckHookOptions options = {});
  ~ReplicaCheckHook() override;
  ReplicaCheckHook(ReplicaCheckHook&&) noexcept;
  ReplicaCheckHook& operator=(ReplicaCheckHook&&) = delete;

  // Throws: FailedPreconditionError without a global step.
  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;

 private:
  // Throws: DataLossError, in all ranks, if they differ.
  void look(int64_t step, const FetchValues& values, SessionRunContext& context) override;
  // How they differ; empty if they do not.
  std::string difference(Session& session);

  const ReplicaCheckHookOptions options_;
  std::shared_ptr<internal::RunAgreement> agreement_;
  std::unique_ptr<internal::ProgramValues> values_;
  int64_t agreed_step_ = 0;  // The last one.
  int64_t num_rollbacks_ = 0;
};

}  // namespace crochet::inline v0
