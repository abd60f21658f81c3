// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include <ATen/core/Tensor.h>

#include "crochet/engines/local/graph.h"

namespace crochet::inline v0::libtorch {

// Under which names the parameters of tracked modules are saved. An optimizer, which knows only the
// tensors, saves its state under the same names.
class ParameterNames {
 public:
  // Those of a graph.
  static std::shared_ptr<ParameterNames> of(local::Graph& graph);

  // The last name counts.
  void add(const at::Tensor& parameter, std::string name);
  // Empty if no tracked module has the parameter.
  std::string find(const at::Tensor& parameter) const;

 private:
  // Weak, because an address may be used again.
  using Weak = c10::weak_intrusive_ptr<at::TensorImpl, at::UndefinedTensorImpl>;
  struct Entry {
    Weak parameter;
    std::string name;
  };
  std::unordered_map<const at::TensorImpl*, Entry> names_;
};

}  // namespace crochet::inline v0::libtorch
