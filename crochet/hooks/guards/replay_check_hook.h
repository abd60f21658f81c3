// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

namespace internal {
class ProgramValues;
class RunAgreement;
}  // namespace internal

struct ReplayCheckHookOptions {
  int64_t every_n_steps = 1000;
  // How many steps are made again, each time.
  int64_t num_steps = 1;
};

// Finds out whether the machine computes the same twice: makes some steps again from the state
// before them, and compares all that is tracked, bit for bit. If it differs, the steps are made a
// third time, and the state that two of the three agree on is kept; a line in the log names the
// first value that was wrong. A processor or memory that silently computes wrong results is found
// so, while a run of weeks is still worth something:
//
//   Loop loop({.checkpoint = {.dir = "runs/x"}, .hooks = {ReplayCheckHook({.every_n_steps =
//   500})}});
//
// Costs, every n steps, the time of `num_steps` steps, and memory for two copies of the state.
// Needs steps that depend on nothing but what is tracked, and on their feeds; `crochet rehearse`
// tests that.
class CROCHET_EXPORT ReplayCheckHook final : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError unless both options are 1 or more, and num_steps at most
  // every_n_steps.
  explicit ReplayCheckHook(ReplayCheckHookOptions options = {});
  ~ReplayCheckHook() override;
  ReplayCheckHook(ReplayCheckHook&&) noexcept;
  ReplayCheckHook& operator=(ReplayCheckHook&&) = delete;

  // In this process.
  int64_t num_checks() const { return num_checks_; }
  // How often the steps, or their repetition, were wrong.
  int64_t num_corrections() const { return num_corrections_; }

  // Throws: FailedPreconditionError without a global step.
  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  // Throws: DataLossError if three runs give three results; what the steps throw.
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  struct Recorded;

  void check(Session& session);

  const ReplayCheckHookOptions options_;
  std::shared_ptr<internal::RunAgreement> agreement_;
  std::unique_ptr<internal::ProgramValues> values_;
  std::unique_ptr<Recorded> recorded_;  // The steps that will be made again; null between them.
  int64_t step_ = 0;
  int64_t num_checks_ = 0;
  int64_t num_corrections_ = 0;
};

}  // namespace crochet::inline v0
