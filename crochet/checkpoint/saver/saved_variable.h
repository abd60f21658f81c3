// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/session/graph.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0 {

namespace internal {

// The compiler shows this name where braces hold two names.
struct UseOnePairOfBracesOrSavedVariable {};

}  // namespace internal

// A variable or an object that a saver saves and restores, by its name in the graph, and its key in
// the file: its own name by default. The parts of a partitioned variable have one key and a slice
// each.
//
//   Saver({.var_list = {"bias", SavedVariable("dense/w").as("kernel")}});
//   Saver({.var_list = {SavedVariable("w_0").as("w", SaveSliceInfo{{4, 2}, parse_slice("0,2:-")}),
//                       SavedVariable("w_1").as("w", SaveSliceInfo{{4, 2},
//                       parse_slice("2,2:-")})}});
struct CROCHET_EXPORT SavedVariable {
  // A template, since two names in braces would construct a std::string from two iterators.
  template <std::convertible_to<std::string> Name>
  SavedVariable(Name name_in) : name(std::move(name_in)), key(name) {}
  SavedVariable(const Variable& variable) : SavedVariable(variable.name()) {}
  // Deleted, because {{"v2", "v1"}} is ambiguous: two variables, or one with a key? (On one line,
  // as clang shows the first line of a declaration.)
  template <typename Name, typename Key>
  SavedVariable(const Name&, const Key&, internal::UseOnePairOfBracesOrSavedVariable = {}) = delete;

  // The same with another key, and as a slice of the variable with that key.
  SavedVariable as(std::string other_key, std::optional<SaveSliceInfo> of_slice = {}) const;

  std::string name;
  std::string key;
  std::optional<SaveSliceInfo> slice;
};

// The variables that a saver saves: unset, or a list, which may be empty.
class CROCHET_EXPORT VariableList {
 public:
  VariableList();
  VariableList(std::initializer_list<SavedVariable> variables);
  VariableList(std::vector<SavedVariable> variables);

  // True if it is set.
  explicit operator bool() const { return variables_.has_value(); }
  // Requires: it is set.
  const std::vector<SavedVariable>& operator*() const { return *variables_; }
  const std::vector<SavedVariable>* operator->() const { return &*variables_; }

 private:
  std::optional<std::vector<SavedVariable>> variables_;
};

}  // namespace crochet::inline v0
