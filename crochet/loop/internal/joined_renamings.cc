// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/internal/joined_renamings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "crochet/base/internal/dynamic_type.h"
#include "crochet/checkpoint/saver/internal/owned_names.h"
#include "crochet/checkpoint/saver/internal/stored_names.h"
#include "crochet/session/internal/nested_names.h"
#include "crochet/session/parted_saveable.h"

namespace crochet::inline v0::internal {
namespace {

// A value of the program, or a part of one.
struct OwnValue {
  bool has_entries = false;  // Beneath its name.
  bool is_optional = false;
  std::string owner = {};   // As StatePart::named_after.
  std::string object = {};  // The one with this part.
  std::string module = {};  // The name of the value that plans it; empty if none does.
};
using OwnValues = std::map<std::string, OwnValue>;

OwnValues own_values(const Graph& graph) {
  OwnValues values;
  for (const Variable& variable : graph.variables()) values[variable.name()] = {};
  for (const RegisteredSaveable& each : graph.saveables()) {
    const auto* const parted = dynamic_as<const PartedSaveable>(each.object.get());
    if (parted == nullptr) {
      values[each.name] = {.has_entries = true};
      continue;
    }
    for (const StatePart& part : parted->parts_for(StoredParts()))
      values[full_name(each.name, part.key)] = {
          .has_entries = part.is_object,
          .is_optional = part.is_optional,
          .owner = part.named_after,
          .object = each.name,
          .module = part.planned_by ? full_name(each.name, *part.planned_by) : ""};
  }
  return values;
}

// The rules by which a whole module is renamed as the value is, the outermost first: their names
// end where the rest of both names of the value is equal.
std::vector<StoredName> rules_of_modules(const StoredName& renaming, const std::string& module) {
  const auto& [name, stored_as] = renaming;
  std::vector<StoredName> rules;
  if (module.empty()) return rules;
  for (size_t end = module.size(); end < name.size(); ++end) {
    if (name[end] != (end == module.size() ? '/' : '.')) continue;
    const std::string rest = name.substr(end);
    if (!stored_as.ends_with(rest) || stored_as.size() == rest.size()) continue;
    const std::string end_of_module = end == module.size() ? "" : ".*";
    rules.push_back({name.substr(0, end) + end_of_module,
                     stored_as.substr(0, stored_as.size() - rest.size()) + end_of_module});
  }
  return rules;
}

using Names = std::set<std::string, std::less<>>;

// True if the rule gives each value that it matches what only the checkpoint has.
bool is_complete(const StoredName& rule, const OwnValues& values, const Names& surplus) {
  return std::ranges::all_of(values, [&](const auto& value) {
    const std::optional<std::string> stored_as = stored_by(rule, value.first);
    return !stored_as || value.second.is_optional || has_at(surplus, *stored_as);
  });
}

std::vector<StoredName> joined(const std::vector<StoredName>& renamings, const OwnValues& values,
                               const Names& surplus) {
  const auto is_right = [&](const StoredName& rule) {
    const auto contradicts = [&](const StoredName& other) {
      return stored_by(rule, other.name).value_or(other.stored_as) != other.stored_as;
    };
    return std::ranges::none_of(renamings, contradicts) && is_complete(rule, values, surplus);
  };
  std::vector<StoredName> rules;
  for (const StoredName& renaming : renamings) {
    const auto value = values.find(renaming.name);
    std::vector<StoredName> wider;
    if (value != values.end()) wider = rules_of_modules(renaming, value->second.module);
    const auto widest = std::ranges::find_if(wider, is_right);
    const StoredName& rule = widest == wider.end() ? renaming : *widest;
    if (std::ranges::count(rules, rule) == 0) rules.push_back(rule);
  }
  return rules;
}

}  // namespace

JoinedRenamings::JoinedRenamings(const std::vector<StoredName>& renamings,
                                 const RestoreMismatch& mismatch, const Graph& graph) {
  const OwnValues values = own_values(graph);
  Names all;
  for (const auto& each : mismatch.surplus) all.insert(each.key);
  rules = joined(renamings, values, all);
  Names found, found_beneath;
  for (const auto& [name, value] : values) {
    const std::string stored_as =
        stored_with_owner(rules, {name, value.owner}).value_or(stored_name(rules, name));
    if (stored_as == name) continue;
    (value.has_entries ? found_beneath : found).insert(stored_as);
    // What else it has is known only once these parts are renamed.
    if (!value.owner.empty()) found_beneath.insert(value.object);
  }
  for (const auto& each : mismatch.surplus) {
    const auto is_owner = [&](std::string_view name) { return found_beneath.contains(name); };
    if (!found.contains(each.key) && !is_any_at_or_above(each.key, is_owner))
      surplus.push_back(each.key);
  }
  for (const auto& each : mismatch.missing) {
    const std::string stored_as = stored_name(rules, each.name);
    if (stored_as == each.name || !has_at(all, stored_as)) missing.push_back(each.name);
  }
}

}  // namespace crochet::inline v0::internal
