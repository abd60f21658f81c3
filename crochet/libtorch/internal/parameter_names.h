// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "crochet/engines/local/graph.h"
#include "crochet/libtorch/internal/named_tensors.h"

namespace torch::optim {
class Optimizer;
}  // namespace torch::optim

namespace crochet::inline v0::libtorch::internal {

// Under which names the parameters of tracked modules are saved. An optimizer, which knows only the
// tensors, saves its state under the same names.
class ParameterNames {
 public:
  // Those of a graph.
  static std::shared_ptr<ParameterNames> of(local::Graph& graph);

  // The parameters that the module tracked as `module` has now. The first name of a tensor counts.
  // A tensor that the module had before, and has no longer, is a former parameter.
  void set(const std::string& module, const std::vector<NamedTensor>& parameters);

  // Empty if no tracked module has the parameter.
  std::string find(const at::Tensor& parameter) const;
  // The name that a tensor had as a parameter, before it was replaced; empty for any other.
  std::string former_name(const at::Tensor& tensor) const;
  // Undefined if no tracked module has a parameter of this name.
  at::Tensor tensor(const std::string& name) const;

  // Tracked optimizers, whose groups hold parameters.
  void add(const torch::optim::Optimizer& optimizer) { optimizers_.insert(&optimizer); }
  void remove(const torch::optim::Optimizer& optimizer) { optimizers_.erase(&optimizer); }
  const std::set<const torch::optim::Optimizer*>& optimizers() const { return optimizers_; }

  // How many held the tensor beside its module when it was seen first; `num_holders` if this is
  // now.
  size_t first_holders(const at::Tensor& tensor, size_t num_holders);

  // Names of tensors whose size a program has changed since it tracked them, in this process or one
  // before it: a restore gives them the checkpoint's size. Notes the first size.
  bool is_resized(const std::string& name, at::IntArrayRef sizes);
  void set_resized(const std::string& name) { resized_.insert(name); }

  // Names whose size a restore that is being planned is about to change.
  void plan_size(const std::string& name, bool is_changed);
  bool is_size_planned(const std::string& name) const { return planned_.contains(name); }

 private:
  // Weak, because an address may be used again.
  using Weak = c10::weak_intrusive_ptr<at::TensorImpl, at::UndefinedTensorImpl>;
  struct Entry {
    Weak parameter;
    std::string name;
    std::string module;
    bool is_former = false;
  };
  const Entry* entry_of(const at::Tensor& tensor) const;

  std::unordered_map<const at::TensorImpl*, Entry> entries_;
  std::map<std::string, std::vector<const at::TensorImpl*>> modules_;
  std::map<std::string, const at::TensorImpl*> by_name_;
  struct Holders {
    Weak tensor;
    size_t count;
  };
  std::unordered_map<const at::TensorImpl*, Holders> first_holders_;
  std::set<const torch::optim::Optimizer*> optimizers_;
  std::map<std::string, std::vector<int64_t>> first_sizes_;
  std::set<std::string> resized_;
  std::set<std::string> planned_;
};

}  // namespace crochet::inline v0::libtorch::internal
