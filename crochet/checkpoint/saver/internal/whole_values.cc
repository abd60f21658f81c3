// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/whole_values.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "crochet/session/internal/nested_names.h"

namespace crochet::inline v0::internal {
namespace {

bool has_same_rows(const StatePart& column, const StoredParts::Map& stored) {
  const auto found = stored.find(column.key);
  return found == stored.end() || !column.present_shape || found->second.shape.rank() == 0 ||
         found->second.shape[0] == (*column.present_shape)[0];
}

// The number of the alternative that the part is or belongs to.
std::string alternative_of(const StatePart& part, const std::string& variant) {
  const size_t start = variant.empty() ? 0 : variant.size() + 1;
  return part.key.substr(0, part.key.find('/', start));
}

// True if options can be applied to each part. The keys of a container are not known yet.
bool has_same_structure(const std::string& name, const WholeValues::Value& value,
                        const StoredParts::Map& stored,
                        const WholeValues::Names& of_other_classes) {
  switch (value.kind) {
    case WholeValue::Kind::kKeyed:
      return false;
    case WholeValue::Kind::kColumns:
      return std::ranges::all_of(
          value.parts, [&](const StatePart* part) { return has_same_rows(*part, stored); });
    case WholeValue::Kind::kAlternatives:
      return has_at(stored, alternative_of(*value.parts.front(), name));
    case WholeValue::Kind::kObject:
      return !of_other_classes.contains(name);
  }
  return false;
}

// What the options have done to the parts of a value.
struct Fates {
  bool lacks_keys = false;
  bool has_mismatched = false;
  bool has_restored = false;

  bool are_mixed(WholeValue::Kind kind) const {
    switch (kind) {
      case WholeValue::Kind::kKeyed:
        return lacks_keys || has_mismatched;
      // Members that are not restored keep their values, as long as there are others.
      case WholeValue::Kind::kColumns:
        return !has_restored;
      case WholeValue::Kind::kAlternatives:
      case WholeValue::Kind::kObject:
        return has_mismatched;
    }
    return false;
  }
};

}  // namespace

WholeValues::Names objects_of_other_classes(const std::vector<StatePart>& present,
                                            const StoredParts::Map& stored) {
  WholeValues::Names objects;
  for (const StatePart& part : present) {
    // "agent/%class/trader", or "%class/trader".
    const size_t end = part.key.rfind('/');
    if (end == std::string::npos) continue;
    const std::string class_name = part.key.substr(0, end);
    const size_t start = class_name.rfind('/') + 1;
    if (std::string_view(class_name).substr(start) != kClassName) continue;
    if (has_at(stored, class_name) && !stored.contains(part.key))
      objects.insert(class_name.substr(0, start == 0 ? 0 : start - 1));
  }
  return objects;
}

StoredParts::Part own_part(const StatePart& part) {
  const Shape shape = part.is_column ? part.shape : part.present_shape.value_or(part.shape);
  return {.dtype = part.dtype, .shape = shape, .is_own = true};
}

WholeValues::WholeValues(const std::vector<StatePart>& present, const StoredParts::Map& stored,
                         const std::function<bool(const std::string& part)>& is_kept) {
  for (const StatePart& part : present)
    for (const WholeValue& whole : part.wholes) {
      Value& value = values_[whole.name];
      value.kind = whole.kind;
      value.parts.push_back(&part);
    }
  const Names others = objects_of_other_classes(present, stored);
  std::erase_if(values_, [&](const auto& value) {
    const std::string& name = value.first;
    const auto has_it = [&](const std::string& object) { return is_beneath(name, object); };
    return !has_at(stored, name) || has_same_structure(name, value.second, stored, others) ||
           std::ranges::any_of(others, has_it);
  });
  for (const std::string& name : others)
    if (values_.contains(name)) of_other_classes_.insert(name);
  for (const auto& [name, value] : values_) {
    const auto matches = [&](const StatePart* part) { return is_kept(part->key); };
    if (std::ranges::all_of(value.parts, matches))
      kept_.insert(name);
    else if (const auto first = std::ranges::find_if(value.parts, matches);
             first != value.parts.end())
      partly_kept_.emplace(name, (*first)->key);
  }
}

bool WholeValues::is_of_other_class(const StatePart& part) const {
  return std::ranges::any_of(
      part.wholes, [&](const WholeValue& whole) { return of_other_classes_.contains(whole.name); });
}

WholeValues::Names WholeValues::mixed(
    const std::vector<StatePart>& parts,
    const std::function<Fate(const StatePart& part)>& fate_of) const {
  std::map<std::string, std::pair<WholeValue::Kind, Fates>> all;
  for (const StatePart& part : parts)
    for (const WholeValue& whole : part.wholes) {
      if (!values_.contains(whole.name)) continue;
      auto& [kind, fates] = all[whole.name];
      kind = whole.kind;
      const Fate fate = fate_of(part);
      fates.lacks_keys |= fate == Fate::kMissing && part.is_key;
      fates.has_mismatched |= fate == Fate::kMismatched;
      fates.has_restored |= fate == Fate::kRestored;
    }
  Names mixed;
  for (const auto& [name, value] : all)
    if (value.second.are_mixed(value.first)) mixed.insert(name);
  return mixed;
}

StoredParts::Map WholeValues::with_own(StoredParts::Map stored, const Names& own) const {
  for (const std::string& name : own) {
    stored.erase(name);
    const auto rest = all_beneath(stored, name);
    stored.erase(rest.begin(), rest.end());
    for (const StatePart* const part : values_.at(name).parts)
      stored.insert_or_assign(part->key, own_part(*part));
  }
  return stored;
}

}  // namespace crochet::inline v0::internal
