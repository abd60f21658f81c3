// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/saver_options.h"

namespace crochet::inline v0 {

SavedVariable SavedVariable::as(std::string other_key,
                                std::optional<SaveSliceInfo> of_slice) const {
  SavedVariable other = *this;
  other.key = std::move(other_key);
  other.slice = std::move(of_slice);
  return other;
}

VariableList::VariableList() = default;
VariableList::VariableList(std::initializer_list<SavedVariable> variables)
    : variables_(variables) {}
VariableList::VariableList(std::vector<SavedVariable> variables)
    : variables_(std::move(variables)) {}

}  // namespace crochet::inline v0
