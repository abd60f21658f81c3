// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/session/graph.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet {

// The location of a variable that is one part of a partitioned variable.
struct SaveSliceInfo {
  Shape full_shape = {};
  TensorSlice slice = {};
};

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
struct SavedVariable {
  // A template, since two names in braces would construct a std::string from two iterators.
  template <std::convertible_to<std::string> Name>
  SavedVariable(Name name_in) : name(std::move(name_in)), key(name) {}
  SavedVariable(const Variable& variable) : SavedVariable(variable.name()) {}
  // Deleted, because {{"v2", "v1"}} is ambiguous: two variables, or one with a key? (On one line,
  // as clang shows the first line of a declaration.)
  template <typename Name, typename Key>
  SavedVariable(const Name&, const Key&, internal::UseOnePairOfBracesOrSavedVariable = {}) = delete;

  // The same with another key, and as a slice of the variable with that key.
  SavedVariable as(std::string other_key, std::optional<SaveSliceInfo> of_slice = {}) const {
    SavedVariable other = *this;
    other.key = std::move(other_key);
    other.slice = std::move(of_slice);
    return other;
  }

  std::string name;
  std::string key;
  std::optional<SaveSliceInfo> slice;
};

// The variables that a saver saves: unset, or a list, which may be empty.
class VariableList {
 public:
  VariableList() = default;
  VariableList(std::initializer_list<SavedVariable> variables) : variables_(variables) {}
  VariableList(std::vector<SavedVariable> variables) : variables_(std::move(variables)) {}

  // True if it is set.
  explicit operator bool() const { return variables_.has_value(); }
  // Requires: it is set.
  const std::vector<SavedVariable>& operator*() const { return *variables_; }
  const std::vector<SavedVariable>* operator->() const { return &*variables_; }

 private:
  std::optional<std::vector<SavedVariable>> variables_;
};

namespace internal {

// The part of a graph that is saved and restored, and its keys in the file.
//
// Immutable, hence thread-safe.
class VariableSelection {
 public:
  using Filter = std::function<bool(std::string_view name)>;

  // Selects everything in a graph.
  VariableSelection() = default;
  // Throws: InvalidArgumentError if two whole variables, or one and a slice, share a key, one
  // variable has two keys, or slices of one key differ in the full shape or overlap.
  VariableSelection(const VariableList& var_list, Filter filter);

  // False if a checkpoint may have entries outside this selection.
  bool selects_all() const { return !has_list_ && !filter_; }

  struct Selected {
    std::vector<Variable> variables;
    std::vector<const RegisteredSaveable*> objects;  // Owned by the graph.
    bool empty() const { return variables.empty() && objects.empty(); }
  };
  // Throws: InvalidArgumentError for a name of the list that the graph does not have.
  Selected select(const Graph& graph) const;

  // The location of a variable or object in the file.
  struct Place {
    std::string key;
    const SaveSliceInfo* slice = nullptr;  // Null for a whole variable.
  };
  // The location of a variable or object, or of an object's entry "<object>/<key>".
  Place place_of(const std::string& name) const;

 private:
  void check_keys() const;

  bool has_list_ = false;
  std::map<std::string, SavedVariable, std::less<>> by_name_;  // Empty without a list.
  Filter filter_;
};

}  // namespace internal
}  // namespace crochet
