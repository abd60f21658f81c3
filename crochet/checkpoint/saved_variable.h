// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/tensor_slice.h"
#include "crochet/session/graph.h"

namespace crochet {

// The place of a variable that is one part of a partitioned one.
struct SaveSliceInfo {
  Shape full_shape = {};
  TensorSlice slice = {};
};

// A variable or an object that a saver saves and restores, by its name in the graph, and the key
// it has in the file: its own name unless another is given. The parts of a partitioned variable
// are given one key and a slice each.
//
//   Saver({.var_list = {{"bias", {"dense/w", "kernel"}}}});
//   Saver({.var_list = {{{"w_0", "w", {{{4, 2}, parse_slice("0,2:-")}}},
//                        {"w_1", "w", {{{4, 2}, parse_slice("2,2:-")}}}}}});
struct SavedVariable {
  SavedVariable(std::string name_in, std::string key_in = {},
                std::optional<SaveSliceInfo> slice_in = {})
      : name(std::move(name_in)),
        key(key_in.empty() ? name : std::move(key_in)),
        slice(std::move(slice_in)) {}
  SavedVariable(const char* name_in, std::string key_in = {},
                std::optional<SaveSliceInfo> slice_in = {})
      : SavedVariable(std::string(name_in), std::move(key_in), std::move(slice_in)) {}
  SavedVariable(const Variable& variable, std::string key_in = {},
                std::optional<SaveSliceInfo> slice_in = {})
      : SavedVariable(variable.name(), std::move(key_in), std::move(slice_in)) {}

  std::string name;
  std::string key;
  std::optional<SaveSliceInfo> slice;
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
  VariableSelection(const std::optional<std::vector<SavedVariable>>& var_list, Filter filter);

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
