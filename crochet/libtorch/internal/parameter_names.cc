// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/parameter_names.h"

#include <utility>

#include "crochet/session/internal/nested_names.h"

namespace crochet::inline v0::libtorch::internal {

std::shared_ptr<ParameterNames> ParameterNames::of(local::Graph& graph) {
  if (const auto attached = graph.attached<ParameterNames>(); !attached.empty())
    return attached.front();
  auto names = std::make_shared<ParameterNames>();
  graph.attach(names);
  return names;
}

void ParameterNames::set(const std::string& module, const std::vector<NamedTensor>& parameters) {
  for (const at::TensorImpl* const known : modules_[module])
    if (const auto found = entries_.find(known);
        found != entries_.end() && found->second.module == module) {
      by_name_.erase(found->second.name);
      found->second.is_former = true;
      if (found->second.parameter.expired()) entries_.erase(found);
    }
  std::vector<const at::TensorImpl*> present;
  for (const auto& [own_name, parameter] : parameters) {
    const at::TensorImpl* const address = parameter.unsafeGetTensorImpl();
    const Entry* const known = entry_of(parameter);
    if (known != nullptr && !known->is_former && known->module != module) continue;
    std::string name = crochet::internal::full_name(module, own_name);
    by_name_[name] = address;
    entries_.insert_or_assign(
        address, Entry{Weak(parameter.getIntrusivePtr()), std::move(name), module, false});
    present.push_back(address);
  }
  modules_[module] = std::move(present);
}

const ParameterNames::Entry* ParameterNames::entry_of(const at::Tensor& tensor) const {
  const auto found = entries_.find(tensor.unsafeGetTensorImpl());
  return found == entries_.end() || found->second.parameter.expired() ? nullptr : &found->second;
}

std::string ParameterNames::find(const at::Tensor& parameter) const {
  const Entry* const entry = entry_of(parameter);
  return entry == nullptr || entry->is_former ? "" : entry->name;
}

std::string ParameterNames::former_name(const at::Tensor& tensor) const {
  const Entry* const entry = entry_of(tensor);
  return entry == nullptr || !entry->is_former ? "" : entry->name;
}

at::Tensor ParameterNames::tensor(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return {};
  return at::Tensor(entries_.at(found->second).parameter.lock());
}

size_t ParameterNames::first_holders(const at::Tensor& tensor, size_t num_holders) {
  const auto [first, is_new] = first_holders_.try_emplace(
      tensor.unsafeGetTensorImpl(), Holders{Weak(tensor.getIntrusivePtr()), num_holders});
  if (!is_new && first->second.tensor.expired())
    first->second = {Weak(tensor.getIntrusivePtr()), num_holders};
  return first->second.count;
}

bool ParameterNames::is_resized(const std::string& name, at::IntArrayRef sizes) {
  const auto [first, is_new] = first_sizes_.try_emplace(name, sizes.vec());
  if (!is_new && sizes != first->second) resized_.insert(name);
  return resized_.contains(name);
}

void ParameterNames::plan_size(const std::string& name, bool is_changed) {
  if (is_changed)
    planned_.insert(name);
  else
    planned_.erase(name);
}

}  // namespace crochet::inline v0::libtorch::internal
