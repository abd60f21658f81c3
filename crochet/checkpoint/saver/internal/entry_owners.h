// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <unordered_set>

#include "crochet/checkpoint/saver/internal/variable_selection.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0::internal {

// Finds the owner of an entry in the file: a variable, or, among the objects whose key is a prefix
// of the entry, the one with the longest key.
class EntryOwners {
 public:
  // Requires: both outlive this.
  EntryOwners(const Graph& graph, const VariableSelection& selection);

  // Null for the entry of a variable or without an owner; otherwise the object, and the entry's key
  // within it.
  const RegisteredSaveable* owner_of(const std::string& entry, std::string& key);
  // Few entries need this check, and in programs with many variables usually none.
  bool is_variable(const std::string& entry);

 private:
  const Graph& graph_;
  const VariableSelection& selection_;
  std::map<std::string, const RegisteredSaveable*, std::less<>> objects_;
  std::unordered_set<std::string> variables_;  // Filled when it is needed.
};

}  // namespace crochet::inline v0::internal
