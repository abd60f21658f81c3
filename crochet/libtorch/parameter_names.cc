// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/parameter_names.h"

#include <utility>

namespace crochet::inline v0::libtorch {

std::shared_ptr<ParameterNames> ParameterNames::of(local::Graph& graph) {
  if (const auto attached = graph.attached<ParameterNames>(); !attached.empty())
    return attached.front();
  auto names = std::make_shared<ParameterNames>();
  graph.attach(names);
  return names;
}

void ParameterNames::add(const at::Tensor& parameter, std::string name) {
  names_.insert_or_assign(parameter.unsafeGetTensorImpl(),
                          Entry{Weak(parameter.getIntrusivePtr()), std::move(name)});
}

std::string ParameterNames::find(const at::Tensor& parameter) const {
  const auto found = names_.find(parameter.unsafeGetTensorImpl());
  return found == names_.end() || found->second.parameter.expired() ? "" : found->second.name;
}

}  // namespace crochet::inline v0::libtorch
