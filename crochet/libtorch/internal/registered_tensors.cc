// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/registered_tensors.h"

#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn.h>
#include <torch/optim/optimizer.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/dynamic_type.h"
#include "crochet/io/file_system.h"
#include "crochet/session/internal/nested_names.h"

namespace crochet::inline v0::libtorch::internal {
namespace {

struct Registered {
  std::string name;
  at::Tensor tensor;
  bool is_buffer;
};

// A member of a layer that is not what is registered under its name.
struct Assigned {
  std::string module;
  const char* member;
  at::Tensor registered;
  at::Tensor tensor;
};

class Walk {
 public:
  explicit Walk(const torch::nn::Module& module, const std::string& name) { visit(module, name); }

  // Once for each register, which may be several times for a tensor.
  std::vector<Registered> registered;
  std::vector<Assigned> assigned;

 private:
  void visit(const torch::nn::Module& module, const std::string& name) {
    if (!visited_.insert(&module).second) return;
    const auto parameters = module.named_parameters(/*recurse=*/false);
    const auto buffers = module.named_buffers(/*recurse=*/false);
    for (const auto& item : parameters) add(name, item, false);
    for (const auto& item : buffers) add(name, item, true);
    record_members<torch::nn::LinearImpl, torch::nn::BilinearImpl, torch::nn::EmbeddingImpl,
                   torch::nn::EmbeddingBagImpl, torch::nn::Conv1dImpl, torch::nn::Conv2dImpl,
                   torch::nn::Conv3dImpl, torch::nn::ConvTranspose1dImpl,
                   torch::nn::ConvTranspose2dImpl, torch::nn::ConvTranspose3dImpl,
                   torch::nn::BatchNorm1dImpl, torch::nn::BatchNorm2dImpl,
                   torch::nn::BatchNorm3dImpl, torch::nn::InstanceNorm1dImpl,
                   torch::nn::InstanceNorm2dImpl, torch::nn::InstanceNorm3dImpl,
                   torch::nn::LayerNormImpl, torch::nn::GroupNormImpl, torch::nn::PReLUImpl>(
        module, name, parameters, buffers);
    for (const auto& child : module.named_children())
      visit(*child.value(), crochet::internal::full_name(name, child.key()));
  }

  template <typename Item>
  void add(const std::string& module, const Item& item, bool is_buffer) {
    if (item.value().defined())
      registered.push_back(
          {crochet::internal::full_name(module, item.key()), item.value(), is_buffer});
  }

  template <typename... Layers, typename Tensors>
  void record_members(const torch::nn::Module& module, const std::string& name,
                      const Tensors& parameters, const Tensors& buffers) {
    static_cast<void>((record_members_of<Layers>(module, name, parameters, buffers) || ...));
  }

  template <typename Layer, typename Tensors>
  bool record_members_of(const torch::nn::Module& module, const std::string& name,
                         const Tensors& parameters, const Tensors& buffers) {
    const auto* const own = crochet::internal::dynamic_as<const Layer>(&module);
    if (own == nullptr) return false;
    note(name, "weight", own->weight, parameters);
    if constexpr (requires { own->bias; }) note(name, "bias", own->bias, parameters);
    if constexpr (requires { own->running_mean; }) {
      note(name, "running_mean", own->running_mean, buffers);
      note(name, "running_var", own->running_var, buffers);
      note(name, "num_batches_tracked", own->num_batches_tracked, buffers);
    }
    return true;
  }

  template <typename Tensors>
  void note(const std::string& module, const char* name, const at::Tensor& member,
            const Tensors& tensors) {
    const at::Tensor* const known = tensors.find(name);
    if (known != nullptr && !member.is_same(*known))
      assigned.push_back({module, name, *known, member});
  }

  std::set<const torch::nn::Module*> visited_;
};

using Counts = std::unordered_map<const at::TensorImpl*, size_t>;

Counts held_by_optimizers(const ParameterNames& names) {
  Counts counts;
  for (const torch::optim::Optimizer* const optimizer : names.optimizers())
    for (const auto& group : optimizer->param_groups())
      for (const at::Tensor& parameter : group.params()) ++counts[parameter.unsafeGetTensorImpl()];
  return counts;
}

// How many hold the tensor beside its registers: members, optimizers, and others.
size_t holders_of(const at::Tensor& tensor, size_t num_registers) {
  // The walk has a copy of each register's.
  size_t known = 2 * num_registers;
  if (torch::autograd::impl::try_get_grad_accumulator(tensor)) ++known;
  const size_t all = tensor.use_count();
  return all > known ? all - known : 0;
}

}  // namespace

void check_registered(const torch::nn::Module& module, ParameterNames& names,
                      const std::string& name) {
  std::unordered_set<const at::TensorImpl*> replaced;
  const Walk walk(module, name);
  Counts held;
  for (const Registered& each : walk.registered) ++held[each.tensor.unsafeGetTensorImpl()];
  for (const Assigned& each : walk.assigned) {
    replaced.insert(each.registered.unsafeGetTensorImpl());
    if (held.contains(each.tensor.unsafeGetTensorImpl()) || !names.find(each.tensor).empty())
      continue;
    throw FailedPreconditionError(fmt::format(
        "module \"{}\" computes with a tensor that was assigned to its member {}, but its "
        "registered tensor is another one, which would be saved: assign values by copy_() under "
        "torch::NoGradGuard, and tensors of another size by set_data()",
        each.module, each.member));
  }
  const Counts by_optimizers = held_by_optimizers(names);
  for (const Registered& each : walk.registered) {
    const at::TensorImpl* const address = each.tensor.unsafeGetTensorImpl();
    if (replaced.contains(address)) continue;
    const auto found = by_optimizers.find(address);
    const size_t num_optimizers = found == by_optimizers.end() ? 0 : found->second;
    const size_t now = holders_of(each.tensor, held.at(address));
    // Optimizers may have been tracked after the module.
    if (names.first_holders(each.tensor, now) > num_optimizers && now <= num_optimizers)
      throw FailedPreconditionError(fmt::format(
          "{0} \"{1}\": nothing uses the registered tensor any more: a member of the module was "
          "assigned to ({2} = ...), which does not change what is registered and would be saved: "
          "assign values by copy_() under torch::NoGradGuard, and tensors of another size by "
          "set_data(){3}",
          each.is_buffer ? "buffer" : "parameter", each.name, base_name(each.name),
          each.is_buffer ? "" : ", and tie tensors before the module is tracked"));
  }
}

}  // namespace crochet::inline v0::libtorch::internal
