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

// The place of a variable that is one part of a partitioned one.
struct SaveSliceInfo {
  Shape full_shape = {};
  TensorSlice slice = {};
};

namespace internal {

// The compiler shows its name where braces hold two names.
struct UseOnePairOfBracesOrSavedVariable {};

}  // namespace internal

// A variable or an object that a saver saves and restores, by its name in the graph, and the key
// it has in the file: its own name unless another is given. The parts of a partitioned variable
// are given one key and a slice each.
//
//   Saver({.var_list = {"bias", SavedVariable("dense/w").as("kernel")}});
//   Saver({.var_list = {SavedVariable("w_0").as("w", SaveSliceInfo{{4, 2}, parse_slice("0,2:-")}),
//                       SavedVariable("w_1").as("w", SaveSliceInfo{{4, 2},
//                       parse_slice("2,2:-")})}});
struct SavedVariable {
  // A template: two names in braces would make a std::string of the characters between them.
  template <std::convertible_to<std::string> Name>
  SavedVariable(Name name_in) : name(std::move(name_in)), key(name) {}
  SavedVariable(const Variable& variable) : SavedVariable(variable.name()) {}
  // {{"v2", "v1"}}: two variables, or one with a key? Say which. (In one line, as clang shows the
  // first line of a declaration.)
  template <typename Name, typename Key>
  SavedVariable(const Name&, const Key&, internal::UseOnePairOfBracesOrSavedVariable = {}) = delete;

  // The same under another key, and as a slice of what has that key.
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

// What a saver is to save: unset, or a list, which may be empty.
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

// What of a graph is saved and restored, and where in the file it stands.
//
// Thread-safe: it never changes.
class VariableSelection {
 public:
  using Filter = std::function<bool(std::string_view name)>;

  // Selects all of a graph.
  VariableSelection() = default;
  // Throws: InvalidArgumentError if two whole variables, or one and a slice, share a key, one
  // variable has two keys, or slices of one key differ in the full shape or overlap.
  VariableSelection(const VariableList& var_list, Filter filter);

  // False if parts of a checkpoint are not this selection's business.
  bool selects_all() const { return !has_list_ && !filter_; }

  struct Selected {
    std::vector<Variable> variables;
    std::vector<const RegisteredSaveable*> objects;  // Of the graph.
    bool empty() const { return variables.empty() && objects.empty(); }
  };
  // Throws: InvalidArgumentError for a name of the list that the graph does not have.
  Selected select(const Graph& graph) const;

  // Where something stands in the file.
  struct Place {
    std::string key;
    const SaveSliceInfo* slice = nullptr;  // Null for a whole variable.
  };
  // Of a variable or object, or of an object's entry "<object>/<key>".
  Place place_of(const std::string& name) const;

 private:
  void check_keys() const;

  bool has_list_ = false;
  std::map<std::string, SavedVariable, std::less<>> by_name_;  // Empty without a list.
  Filter filter_;
};

}  // namespace internal
}  // namespace crochet
