// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/structure_fit.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "crochet/checkpoint/saver/internal/whole_values.h"
#include "crochet/session/internal/nested_names.h"

namespace crochet::inline v0::internal {
namespace {

using Names = std::set<std::string, std::less<>>;

std::string_view last_of(std::string_view name) {
  return name.substr(name.rfind('/') == std::string_view::npos ? 0 : name.rfind('/') + 1);
}
bool is_null_marker(std::string_view part) { return last_of(part) == kNullName; }

// "", "a", "a/b" ... `part`.
std::vector<std::string> owners_of(const std::string& part) {
  std::vector<std::string> owners = {""};
  for (size_t slash = part.find('/'); slash != std::string::npos; slash = part.find('/', slash + 1))
    owners.push_back(part.substr(0, slash));
  if (!part.empty()) owners.push_back(part);
  return owners;
}

// The shortest of them at which there are no names; `part` itself at most.
std::string topmost_absent(const Names& names, const std::string& part) {
  for (std::string& owner : owners_of(part))
    if (!has_at(names, owner)) return std::move(owner);
  return part;
}

using Parts = std::map<std::string, const StatePart*, std::less<>>;

// True if an entry of the checkpoint belongs to a part, which may be an object with several.
bool is_owned(const Parts& parts, const std::string& entry) {
  return std::ranges::any_of(owners_of(entry), [&](const std::string& owner) {
    const auto found = parts.find(owner);
    return found != parts.end() && (owner == entry || found->second->is_object);
  });
}

// True if an entry that only the checkpoint has is in a value that plans its own parts, and not in
// a container that is tracked beside these. `others` are the parts that are not planned so.
bool is_planned(const Names& planners, const Names& others, const std::string& entry) {
  const size_t slash = entry.rfind('/');
  const std::string container = entry.substr(0, slash == std::string::npos ? 0 : slash);
  return std::ranges::any_of(owners_of(entry), [&](const std::string& owner) {
    return planners.contains(owner) && !has_at(others, entry) &&
           !(is_beneath(container, owner) && has_at(others, container));
  });
}

using Entries = std::map<std::string, StructureFit::Entry>;

void add(Entries& entries, std::string name, const std::string& part) {
  StructureFit::Entry& entry = entries[name];
  entry.name = std::move(name);
  entry.parts.push_back(part);
}

using Wholes = std::map<std::string, WholeValue::Kind, std::less<>>;

// The outermost value with the entry in it that options keep as a whole. An entry of an alternative
// that both have is not the variant's. Of objects, `wholes` are those of another class.
std::optional<WholeValue> whole_of(const Wholes& wholes, const std::string& entry) {
  for (const std::string& owner : owners_of(entry)) {
    const auto found = owner == entry ? wholes.end() : wholes.find(owner);
    if (found == wholes.end() || found->second == WholeValue::Kind::kColumns) continue;
    const size_t start = owner.empty() ? 0 : owner.size() + 1;
    if (found->second != WholeValue::Kind::kAlternatives ||
        entry.find('/', start) == std::string::npos)
      return WholeValue{owner, found->second};
  }
  return std::nullopt;
}

}  // namespace

bool is_marker(const std::string& part) {
  return is_null_marker(part) || last_of(part) == kEmptyName;
}

StructureFit::StructureFit(const std::vector<StatePart>& present, StoredParts::Map stored,
                           const Rules& rules)
    : wanted(std::move(stored)) {
  // An empty container is there, and its entries are not; a value that is absent is not there.
  Names present_names, present_markers, stored_names;
  // What plans its own parts compares them itself.
  Names planners, others;
  Parts parts;
  Wholes wholes;
  const Names of_other_classes = objects_of_other_classes(present, wanted);
  for (const StatePart& part : present) {
    for (const WholeValue& whole : part.wholes)
      if (whole.kind != WholeValue::Kind::kObject || of_other_classes.contains(whole.name))
        wholes.emplace(whole.name, whole.kind);
    if (part.planned_by)
      planners.insert(*part.planned_by);
    else
      others.insert(part.key);
    (is_marker(part.key) ? present_markers : present_names).insert(part.key);
    if (!is_marker(part.key)) parts.emplace(part.key, &part);
  }
  for (const auto& [key, part] : wanted)
    if (!is_null_marker(key)) stored_names.insert(key);

  Entries dropped, made;
  for (const StatePart& part : present) {
    if (is_marker(part.key) ||
        (part.is_object ? has_at(stored_names, part.key) : stored_names.contains(part.key)))
      continue;
    std::string name = topmost_absent(stored_names, part.key);
    if (!part.planned_by || !is_beneath(name, *part.planned_by))
      add(dropped, std::move(name), part.key);
  }
  for (const auto& [key, part] : wanted) {
    if (is_marker(key) || is_owned(parts, key)) continue;
    std::string name = topmost_absent(present_names, key);
    if (!is_planned(planners, others, name)) add(made, std::move(name), key);
  }

  for (auto& [name, entry] : dropped) {
    entry.is_nullable = wanted.contains(full_name(name, kNullName));
    entry.whole = whole_of(wholes, name);
    if (entry.whole || !std::ranges::all_of(entry.parts, rules.stays)) {
      only_present.push_back(std::move(entry));
      continue;
    }
    for (const std::string& part : entry.parts) {
      wanted.emplace(part, own_part(*parts.at(part)));
      for (const std::string& owner : owners_of(part))
        for (const std::string_view marker : {kEmptyName, kNullName})
          if (std::string each = full_name(owner, marker); wanted.erase(each) > 0)
            void_markers.push_back(std::move(each));
    }
  }
  for (auto& [name, entry] : made) {
    entry.is_nullable = present_markers.contains(full_name(name, kNullName));
    entry.is_awaited = entry.is_nullable || present_markers.contains(full_name(name, kEmptyName));
    entry.whole = whole_of(wholes, name);
    if (!entry.whole && std::ranges::all_of(entry.parts, rules.is_left_out)) {
      for (const std::string& part : entry.parts) wanted.erase(part);
      left_out.insert(left_out.end(), entry.parts.begin(), entry.parts.end());
    } else {
      only_stored.push_back(std::move(entry));
    }
  }
}

}  // namespace crochet::inline v0::internal
