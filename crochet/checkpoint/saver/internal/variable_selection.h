// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/saver/saver_options.h"
#include "crochet/session/graph.h"
#include "crochet/session/internal/rank_layout.h"

namespace crochet::inline v0::internal {

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
  // Objects with named parts are selected unless a list lacks them: a filter is for their parts.
  // Throws: InvalidArgumentError for a name of the list that the graph does not have.
  Selected select(const Graph& graph) const;

  // True unless a filter rejects the name.
  bool selects(const std::string& name) const { return !filter_ || filter_(name); }
  // True if `part` of the object with this name is selected: by its own name, or with the object.
  bool selects_part(const std::string& object, const std::string& part) const {
    return !filter_ || filter_(object) || filter_(part);
  }

  // The location of a variable or object in the file.
  struct Place {
    std::string key;
    const SaveSliceInfo* slice = nullptr;  // Null for a whole variable.
  };
  // The location of a variable or object, or of an object's entry "<object>/<key>".
  Place place_of(const std::string& name) const;
  // The same; of a variable of which this process has a part, as such.
  Place place_of(const std::string& name, const RankLayout* ranks) const;

 private:
  void check_keys() const;

  bool has_list_ = false;
  std::map<std::string, SavedVariable, std::less<>> by_name_;  // Empty without a list.
  Filter filter_;
};

}  // namespace crochet::inline v0::internal
