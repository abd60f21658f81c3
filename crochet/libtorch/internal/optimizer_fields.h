// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include <torch/optim/optimizer.h>

namespace crochet::inline v0::libtorch::internal {

// Receives the values of an optimizer's state or options, by their names, which are PyTorch's.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void operator()(const char* name, int64_t& value) = 0;
  virtual void operator()(const char* name, double& value) = 0;
  virtual void operator()(const char* name, bool& value) = 0;
  // As a text, "" for none.
  virtual void operator()(const char* name, std::function<std::string()> get,
                          std::function<void(const std::string& text)> set) = 0;
  // Undefined if the state does not have it.
  virtual void operator()(const char* name, at::Tensor& value) = 0;
  virtual void operator()(const char* name, std::deque<at::Tensor>& value) = 0;
};

// What crochet knows of one of LibTorch's optimizers.
class OptimizerFields {
 public:
  virtual ~OptimizerFields() = default;

  // For an optimizer of just this class. Null for any other class: also for one that is derived
  // from LibTorch's, which may have more state.
  static std::unique_ptr<const OptimizerFields> of(const torch::optim::Optimizer& optimizer);
  // For an optimizer of one of these classes, or derived from one. Null for any other.
  static std::unique_ptr<const OptimizerFields> of_base(const torch::optim::Optimizer& optimizer);

  virtual const char* name() const = 0;
  virtual std::unique_ptr<torch::optim::OptimizerParamState> new_state() const = 0;
  virtual void visit(torch::optim::OptimizerParamState& state, FieldVisitor& visitor) const = 0;
  virtual void visit(torch::optim::OptimizerOptions& options, FieldVisitor& visitor) const = 0;
  // False if one state, of the first parameter, is that of all.
  virtual bool has_state_of_each() const { return true; }
};

}  // namespace crochet::inline v0::libtorch::internal
