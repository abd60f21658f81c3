// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "crochet/session/session.h"

// An engine that does almost nothing, so that only the wrappers and the hooks are
// measured. Its graph has an operation "train", and counts its runs as global steps.
class NullGraph final : public crochet::Graph {
 public:
  NullGraph();

  crochet::Operation train() const { return crochet::Operation(&train_); }

  std::unique_ptr<crochet::Session> new_session(const std::string& target,
                                                const crochet::SessionConfig& config = {}) override;
  const crochet::OperationInfo* find_operation(std::string_view name) const override;
  std::vector<std::string> operation_names() const override { return {train_.name, step_.name}; }
  std::vector<crochet::Variable> variables() const override { return {}; }
  crochet::Output global_step() const override { return {&step_, 0}; }

 private:
  crochet::OperationInfo train_;
  crochet::OperationInfo step_;
};
