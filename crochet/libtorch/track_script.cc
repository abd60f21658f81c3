// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/csrc/jit/api/module.h>

#include "crochet/libtorch/internal/module_state.h"
#include "crochet/libtorch/track.h"

namespace crochet::inline v0 {
namespace libtorch {
namespace {

template <typename List>
std::vector<libtorch::internal::NamedTensor> distinct(const List& list) {
  std::vector<libtorch::internal::NamedTensor> tensors;
  std::unordered_set<const at::TensorImpl*> known;
  for (const auto& item : list)
    if (item.value.defined() && known.insert(item.value.unsafeGetTensorImpl()).second)
      tensors.push_back({item.name, item.value});
  return tensors;
}

// An attribute that is a number or a text.
std::string text_of(const c10::IValue& value) {
  if (value.isInt()) return std::to_string(value.toInt());
  if (value.isDouble()) return fmt::to_string(value.toDouble());
  if (value.isBool()) return value.toBool() ? "true" : "false";
  return value.toStringRef();
}
c10::IValue value_of(const std::string& text, const c10::IValue& like) {
  if (like.isInt()) return static_cast<int64_t>(std::stoll(text));
  if (like.isDouble()) return std::stod(text);
  if (like.isBool()) return text == "true";
  return text;
}

libtorch::internal::Modes attributes_of(const torch::jit::Module& module) {
  libtorch::internal::Modes modes;
  for (const auto& part : module.named_modules())
    for (const auto& item : part.value.named_attributes(/*recurse=*/false)) {
      const c10::IValue& value = item.value;
      if (!value.isInt() && !value.isDouble() && !value.isBool() && !value.isString()) continue;
      modes.push_back({part.name.empty() ? item.name : part.name + '.' + item.name,
                       {text_of(value), [owner = part.value, name = item.name,
                                         value](const std::string& text) mutable {
                          owner.setattr(name, value_of(text, value));
                        }}});
    }
  return modes;
}

}  // namespace
}  // namespace libtorch

void track(Tracker& tracker, torch::jit::Module& module) {
  using namespace libtorch;
  libtorch::internal::ModuleState::track(
      tracker,
      {.parameters = [&module] { return distinct(module.named_parameters()); },
       .buffers = [&module] { return distinct(module.named_buffers()); },
       .modes = {libtorch::internal::make_mode("modes/attributes", tracker.name(),
                                               [&module] { return attributes_of(module); }),
                 libtorch::internal::make_mode("modes/requires_grad", tracker.name(), [&module] {
                   libtorch::internal::Modes modes;
                   for (const auto& [name, tensor] : distinct(module.named_parameters()))
                     modes.push_back({name,
                                      {tensor.requires_grad() ? "true" : "false",
                                       [parameter = tensor](const std::string& value) {
                                         at::Tensor(parameter).set_requires_grad(value == "true");
                                       }}});
                   return modes;
                 })}});
}

}  // namespace crochet::inline v0
