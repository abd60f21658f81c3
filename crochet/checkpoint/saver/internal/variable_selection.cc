// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/variable_selection.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/dynamic_type.h"
#include "crochet/session/parted_saveable.h"
#include "crochet/tensor/internal/fmt.h"
#include "crochet/tensor/internal/slice_cover.h"

namespace crochet::inline v0::internal {
namespace {

void check_one_variable(const std::string& key, const SavedVariable& first,
                        const SavedVariable& other) {
  if (!first.slice || !other.slice)
    throw InvalidArgumentError(fmt::format(
        "at least two variables have the same name \"{}\" in the checkpoint: \"{}\" and \"{}\"",
        key, first.name, other.name));
  if (first.slice->full_shape != other.slice->full_shape)
    throw InvalidArgumentError(fmt::format(
        "\"{}\" and \"{}\" are not slices of the same variable \"{}\": one is of {}, one of {}",
        first.name, other.name, key, first.slice->full_shape, other.slice->full_shape));
  if (overlap(resolved(first.slice->slice, first.slice->full_shape),
              resolved(other.slice->slice, other.slice->full_shape)))
    throw InvalidArgumentError(
        fmt::format("the slices \"{}\" and \"{}\" of \"{}\" overlap: {} and {}", first.name,
                    other.name, key, to_string(first.slice->slice), to_string(other.slice->slice)));
}

}  // namespace

VariableSelection::VariableSelection(const VariableList& var_list, Filter filter)
    : has_list_(static_cast<bool>(var_list)), filter_(std::move(filter)) {
  if (!var_list) return;
  for (const SavedVariable& variable : *var_list) {
    const auto [known, is_new] = by_name_.emplace(variable.name, variable);
    if (!is_new && known->second.key != variable.key)
      throw InvalidArgumentError(fmt::format(
          "The same saveable will be restored with two names: \"{}\" with \"{}\" and \"{}\"",
          variable.name, known->second.key, variable.key));
    if (!is_new)
      throw InvalidArgumentError(
          fmt::format("two entries of var_list have the same name \"{}\"", variable.name));
  }
  check_keys();
}

void VariableSelection::check_keys() const {
  std::map<std::string, std::vector<const SavedVariable*>> by_key;
  for (const auto& [name, variable] : by_name_) {
    if (variable.slice) resolved(variable.slice->slice, variable.slice->full_shape);
    std::vector<const SavedVariable*>& others = by_key[variable.key];
    for (const SavedVariable* const other : others)
      check_one_variable(variable.key, *other, variable);
    others.push_back(&variable);
  }
}

VariableSelection::Selected VariableSelection::select(const Graph& graph) const {
  Selected selected;
  std::set<std::string_view> known;
  const auto is_listed = [&](const std::string& name) {
    if (has_list_) {
      const auto listed = by_name_.find(name);
      if (listed == by_name_.end()) return false;
      known.insert(listed->first);
    }
    return true;
  };
  const auto passes = [&](const std::string& name) { return !filter_ || filter_(name); };
  const auto is_selected = [&](const std::string& name) { return is_listed(name) && passes(name); };
  selected.variables = graph.variables();
  std::erase_if(selected.variables, [&](const Variable& v) { return !is_selected(v.name()); });
  for (const RegisteredSaveable& object : graph.saveables())
    if (is_listed(object.name) &&
        (passes(object.name) || dynamic_as<const PartedSaveable>(object.object.get()) != nullptr))
      selected.objects.push_back(&object);
  if (known.size() == by_name_.size()) return selected;
  std::vector<std::string_view> unknown;
  for (const auto& [name, variable] : by_name_)
    if (!known.contains(name)) unknown.push_back(name);
  throw InvalidArgumentError(
      fmt::format("var_list has names that are neither variables nor objects of the graph: {}",
                  fmt::join(unknown, ", ")));
}

VariableSelection::Place VariableSelection::place_of(const std::string& name) const {
  if (by_name_.empty()) return {name};
  std::string_view owner = name;
  while (true) {
    if (const auto found = by_name_.find(owner); found != by_name_.end())
      return {found->second.key + name.substr(owner.size()),
              found->second.slice ? &*found->second.slice : nullptr};
    const size_t slash = owner.rfind('/');
    if (slash == std::string_view::npos) return {name};
    owner = owner.substr(0, slash);
  }
}

VariableSelection::Place VariableSelection::place_of(const std::string& name,
                                                     const RankLayout* ranks) const {
  Place place = place_of(name);
  const RankLayout::Slice* const part = ranks != nullptr ? ranks->slice_of(name) : nullptr;
  if (part != nullptr && !part->is_whole && place.slice == nullptr) place.slice = &part->place;
  return place;
}

}  // namespace crochet::inline v0::internal
