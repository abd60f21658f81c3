// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/entry_owners.h"

#include <algorithm>
#include <string_view>

namespace crochet::inline v0::internal {

EntryOwners::EntryOwners(const Graph& graph, const VariableSelection& selection)
    : graph_(graph), selection_(selection) {
  for (const RegisteredSaveable& object : graph.saveables())
    objects_.emplace(selection.place_of(object.name).key, &object);
}

const RegisteredSaveable* EntryOwners::owner_of(const std::string& entry, std::string& key) {
  if (objects_.empty()) return nullptr;
  std::string_view owner = entry;
  while (true) {
    if (const auto found = objects_.find(owner); found != objects_.end()) {
      if (is_variable(entry)) return nullptr;
      key = entry.substr(std::min(owner.size() + 1, entry.size()));
      return found->second;
    }
    const size_t slash = owner.rfind('/');
    if (slash == std::string_view::npos) return nullptr;
    owner = owner.substr(0, slash);
  }
}

bool EntryOwners::is_variable(const std::string& entry) {
  if (variables_.empty())
    for (const Variable& variable : graph_.variables())
      variables_.insert(selection_.place_of(variable.name()).key);
  return variables_.contains(entry);
}

}  // namespace crochet::inline v0::internal
