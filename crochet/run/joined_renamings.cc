// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/joined_renamings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "crochet/base/internal/dynamic_type.h"
#include "crochet/checkpoint/saver/owned_names.h"
#include "crochet/checkpoint/saver/stored_names.h"
#include "crochet/session/parted_saveable.h"

namespace crochet::inline v0::internal {
namespace {

// A value of the program, or a part of one.
struct OwnValue {
  bool has_entries = false;  // Beneath its name.
  bool is_optional = false;
  std::string owner = {};   // As StatePart::named_after.
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
          .module = part.planned_by ? full_name(each.name, *part.planned_by) : ""};
  }
  return values;
}

// The rule by which a whole module is renamed as the value is: the outermost whose name ends where
// the names of the value become equal.
std::optional<StoredName> rule_of_module(const StoredName& renaming, const std::string& module) {
  const auto& [name, stored_as] = renaming;
  if (module.empty()) return std::nullopt;
  for (size_t end = module.size(); end < name.size(); ++end) {
    if (name[end] != (end == module.size() ? '/' : '.')) continue;
    const std::string rest = name.substr(end);
    if (!stored_as.ends_with(rest) || stored_as.size() == rest.size()) continue;
    const std::string end_of_module = end == module.size() ? "" : ".*";
    return StoredName{name.substr(0, end) + end_of_module,
                      stored_as.substr(0, stored_as.size() - rest.size()) + end_of_module};
  }
  return std::nullopt;
}

// Names, and what is beneath them.
class Surplus {
 public:
  explicit Surplus(const RestoreMismatch& mismatch) {
    for (const auto& each : mismatch.surplus) keys_.insert(each.key);
  }
  bool has_at(const std::string& name) const {
    if (keys_.contains(name)) return true;
    const auto first = keys_.lower_bound(name + '/');
    return first != keys_.end() && first->starts_with(name + '/');
  }

 private:
  std::set<std::string> keys_;
};

// True if the rule gives each value that it matches what only the checkpoint has.
bool is_complete(const StoredName& rule, const OwnValues& values, const Surplus& surplus) {
  return std::ranges::all_of(values, [&](const auto& value) {
    const std::optional<std::string> stored_as = stored_by(rule, value.first);
    return !stored_as || value.second.is_optional || surplus.has_at(*stored_as);
  });
}

std::vector<StoredName> joined(const std::vector<StoredName>& renamings, const OwnValues& values,
                               const Surplus& surplus) {
  std::vector<StoredName> rules;
  for (const StoredName& renaming : renamings) {
    const auto value = values.find(renaming.name);
    auto rule =
        value == values.end() ? std::nullopt : rule_of_module(renaming, value->second.module);
    if (rule && std::ranges::any_of(renamings, [&](const StoredName& other) {
          return stored_by(*rule, other.name).value_or(other.stored_as) != other.stored_as;
        }))
      rule.reset();
    if (rule && !is_complete(*rule, values, surplus)) rule.reset();
    if (!rule) rule = renaming;
    if (std::ranges::count(rules, *rule) == 0) rules.push_back(*std::move(rule));
  }
  return rules;
}

}  // namespace

JoinedRenamings::JoinedRenamings(const std::vector<StoredName>& renamings,
                                 const RestoreMismatch& mismatch, const Graph& graph) {
  if (!renamings.empty()) {
    const OwnValues values = own_values(graph);
    const Surplus all(mismatch);
    rules = joined(renamings, values, all);
    std::set<std::string> found, found_beneath;
    for (const auto& [name, value] : values) {
      const std::string stored_as =
          stored_with_owner(rules, {name, value.owner}).value_or(stored_name(rules, name));
      if (stored_as != name) (value.has_entries ? found_beneath : found).insert(stored_as);
    }
    const auto is_found = [&](const std::string& key) {
      if (found.contains(key) || found_beneath.contains(key)) return true;
      for (size_t end = key.rfind('/'); end != std::string::npos && end > 0;
           end = key.rfind('/', end - 1))
        if (found_beneath.contains(key.substr(0, end))) return true;
      return false;
    };
    for (const auto& each : mismatch.surplus)
      if (!is_found(each.key)) surplus.push_back(each.key);
    for (const auto& each : mismatch.missing) {
      const std::string stored_as = stored_name(rules, each.name);
      if (stored_as == each.name || !all.has_at(stored_as)) missing.push_back(each.name);
    }
    return;
  }
  for (const auto& each : mismatch.surplus) surplus.push_back(each.key);
  for (const auto& each : mismatch.missing) missing.push_back(each.name);
}

}  // namespace crochet::inline v0::internal
