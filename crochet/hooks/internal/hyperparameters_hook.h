// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/summary/summary_writer.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0::internal {

// Writes for TensorBoard with which hyperparameters the run was started, once it makes a step, and
// how it ended.
class CROCHET_EXPORT HyperparametersHook final : public SessionRunHook {
 public:
  HyperparametersHook(std::vector<Hyperparameter> hyperparameters,
                      std::shared_ptr<SummaryWriter> writer)
      : hyperparameters_(std::move(hyperparameters)), writer_(std::move(writer)) {}

  void after_run(SessionRunContext&, const SessionRunValues&) override {
    if (!std::exchange(has_written_, true)) writer_->add_hyperparameters(hyperparameters_);
  }
  void end(Session&) override { write_end(true); }
  void on_error(std::exception_ptr) override { write_end(false); }

 private:
  void write_end(bool is_success) {
    if (has_written_) writer_->add_hyperparameter_end(is_success);
  }

  const std::vector<Hyperparameter> hyperparameters_;
  const std::shared_ptr<SummaryWriter> writer_;
  bool has_written_ = false;
};

}  // namespace crochet::inline v0::internal
