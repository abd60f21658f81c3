// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/parts_planner.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/session/internal/nested_names.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0::internal {
namespace {

std::map<std::string, const StatePart*, std::less<>> by_key(const std::vector<StatePart>& parts) {
  std::map<std::string, const StatePart*, std::less<>> by_key;
  for (const StatePart& part : parts) by_key.emplace(part.key, &part);
  return by_key;
}

// The part that an entry of the checkpoint is, or belongs to, or null.
const StatePart* owner_in(const std::map<std::string, const StatePart*, std::less<>>& parts,
                          const std::string& entry) {
  if (const auto found = parts.find(entry); found != parts.end()) return found->second;
  for (size_t end = entry.rfind('/'); end != std::string::npos;
       end = end == 0 ? std::string::npos : entry.rfind('/', end - 1))
    if (const auto found = parts.find(entry.substr(0, end));
        found != parts.end() && found->second->is_object)
      return found->second;
  const auto whole = parts.find("");
  return whole != parts.end() && whole->second->is_object ? whole->second : nullptr;
}

bool is_in(const WholeValues::Names& values, const StatePart& part) {
  return std::ranges::any_of(part.wholes,
                             [&](const WholeValue& whole) { return values.contains(whole.name); });
}

// True for an entry of an alternative or an object that would be replaced by one of another type.
bool is_replaced(const StructureFit::Entry& entry) {
  return entry.whole && entry.whole->kind != WholeValue::Kind::kKeyed;
}

std::optional<RestoreMismatch::Value> expected_of(const StatePart& part) {
  if (part.is_object) return std::nullopt;
  return RestoreMismatch::Value{part.dtype, part.shape};
}

}  // namespace

std::string name_without_key(const PartEntry& entry, std::string_view part) {
  const std::string rest = entry.key.substr(part.size());
  if (rest.empty()) return entry.name;
  const std::string end = rest.starts_with('/') ? rest : '/' + rest;
  return entry.name.ends_with(end) ? entry.name.substr(0, entry.name.size() - end.size())
                                   : entry.name;
}

bool PartsPlanner::plan() {
  take_entries();
  if (stored_.empty()) {
    // What has no parts has nothing to be missed.
    if (!is_partial_ && selection_.selects_part(name_, name_)) plan_missing();
    return false;
  }
  present_ = object_.parted->present_parts(StoredParts(stored_));
  const WholeValues wholes(present_, stored_,
                           [&](const std::string& key) { return record_.keeps(full(key)); });
  for (const auto& [value, part] : wholes.partly_kept()) refuse_to_keep(full(value), full(part));
  WholeValues::Names own = wholes.kept();
  std::optional<Structure> structure = find_structure(wholes, own);
  if (structure) {
    const WholeValues::Names mixed =
        wholes.mixed(structure->parts, [&](const StatePart& part) { return fate_of(part); });
    own.insert(mixed.begin(), mixed.end());
    if (own.size() > wholes.kept().size()) structure = find_structure(wholes, own);
  }
  if (!structure) {
    for (const auto& [key, stored_as] : names_)
      record_.add_used(record_.view_name(full(key)), stored_as);
    return false;
  }
  for (const std::string& marker : structure->fit.void_markers)
    record_.add_used(record_.view_name(full(marker)), names_.at(marker));
  for (const std::string& value : own) record_own(value, wholes.kept().contains(value));
  record_structure(*structure);
  plan_parts(*structure, wholes, own);
  return true;
}

void PartsPlanner::take_entries() {
  for (PartEntry& entry : object_.entries) {
    if (!selection_.selects_part(name_, full(entry.key))) {
      is_partial_ = true;
      continue;
    }
    stored_.emplace(entry.key, stored_part(record_.stored().item(entry.name)));
    names_.emplace(std::move(entry.key), std::move(entry.name));
  }
  object_.entries.clear();
}

void PartsPlanner::plan_missing() {
  const std::vector<StatePart> parts = object_.parted->parts_for(StoredParts());
  if (std::ranges::none_of(parts, &StatePart::is_fixed)) {
    if (!parts.empty()) record_.add_missing(name_, std::nullopt);
    return;
  }
  for (const StatePart& part : parts) {
    if (part.is_optional) continue;
    if (record_.keeps(full(part.key)))
      record_.add_kept(full(part.key));
    else
      record_.add_missing(full(part.key), expected_of(part));
  }
}

std::optional<PartsPlanner::Structure> PartsPlanner::find_structure(const WholeValues& wholes,
                                                                    const WholeValues::Names& own) {
  Structure structure{StructureFit(present_, wholes.with_own(stored_, own), rules_of_parts())};
  object_.stored = StoredParts(std::move(structure.fit.wanted), is_partial_);
  try {
    structure.parts = object_.parted->parts_for(object_.stored);
  } catch (const InvalidArgumentError& error) {
    record_.mismatch().others.push_back(fmt::format("\"{}\": {}", name_, error.what()));
    return std::nullopt;
  }
  return structure;
}

StructureFit::Rules PartsPlanner::rules_of_parts() const {
  return {.stays =
              [this](const std::string& part) {
                return !selection_.selects_part(name_, full(part)) || record_.stays(full(part));
              },
          .is_left_out =
              [this](const std::string& part) { return record_.leaves_out_entry(full(part)); }};
}

WholeValues::Fate PartsPlanner::fate_of(const StatePart& part) const {
  using enum WholeValues::Fate;
  if (part.is_object || part.is_optional) return kRestored;
  const std::string name = full(part.key);
  const RestoreOptions& rules = record_.rules().options;
  const Item* const found = entry_of(part);
  if (found == nullptr) return rules.allow_missing.match(name) ? kMissing : kRestored;
  const StoredParts::Part stored = stored_part(*found);
  return rules.allow_mismatched.match(name) &&
                 !record_.find_fit(name, {stored.dtype, stored.shape}, {part.dtype, part.shape},
                                   part.named_after)
             ? kMismatched
             : kRestored;
}

void PartsPlanner::refuse_to_keep(const std::string& value, const std::string& part) {
  record_.mismatch().others.push_back(fmt::format(
      "\"{0}\" is kept as a whole or not at all, as its entries may be others in the checkpoint: "
      "restore.keep has \"{1}\", and not all of it; write .keep = {{{2}}}, or leave \"{1}\" out",
      value, part, literal(pattern_for(value))));
}

void PartsPlanner::refuse_to_replace(const std::string& value) {
  record_.mismatch().others.push_back(fmt::format(
      "\"{}\" is of another type in the checkpoint, but fixed() in this program: write .keep = "
      "{{{}}} to keep the program's",
      value, literal(pattern_for(value))));
}

void PartsPlanner::record_own(const std::string& value, bool is_kept) {
  for_each_at(names_, value, [this](const auto& entry) {
    record_.add_used(record_.view_name(full(entry.first)), entry.second);
  });
  for (const StatePart& part : present_) {
    if (!is_in({value}, part) || is_marker(part.key)) continue;
    if (is_kept)
      record_.add_kept(full(part.key));
    else
      record_.add_unchanged(full(part.key));
  }
}

void PartsPlanner::record_structure(const Structure& structure) {
  const PartsByKey old_parts = by_key(present_), new_parts = by_key(structure.parts);
  WholeValues::Names fixed;  // Values that would be replaced as a whole.
  for (const StructureFit::Entry& entry : structure.fit.only_present) {
    if (new_parts.contains(entry.parts.front())) continue;
    if (is_replaced(entry) && old_parts.at(entry.parts.front())->is_structure_fixed)
      fixed.insert(entry.whole->name);
    else
      record_dropped(entry, old_parts);
  }
  for (const StructureFit::Entry& entry : structure.fit.only_stored) {
    const StatePart* const made = owner_in(new_parts, entry.parts.front());
    if (made == nullptr) continue;
    if (is_replaced(entry) && made->is_structure_fixed)
      fixed.insert(entry.whole->name);
    else
      record_made(entry, *made);
  }
  for (const std::string& value : fixed) refuse_to_replace(full(value));
}

void PartsPlanner::record_dropped(const StructureFit::Entry& entry, const PartsByKey& old_parts) {
  for (const std::string& part : entry.parts)
    if (const StatePart& own = *old_parts.at(part); own.is_structure_fixed && !own.is_optional)
      record_.mismatch().missing.push_back(
          {full(part), record_.stored_name(full(part)), expected_of(own)});
  if (entry.whole)
    record_within(entry, old_parts.at(entry.parts.front())->is_key, {.has_dropped = true});
  else
    record_.add_dropped(full(entry.name), pattern_of(entry));
}

void PartsPlanner::record_made(const StructureFit::Entry& entry, const StatePart& made) {
  if (made.is_structure_fixed)
    for (const std::string& part : entry.parts) {
      const auto& stored = record_.stored().item(names_.at(part)).second;
      record_.mismatch().surplus.push_back({names_.at(part), {stored.dtype, stored.shape}});
    }
  if (entry.whole)
    record_within(entry, made.is_key, {.was_empty = entry.is_awaited, .has_made = true});
  else
    record_.add_made(full(entry.name), pattern_of(entry), entry.is_awaited);
}

void PartsPlanner::record_within(const StructureFit::Entry& entry, bool is_key,
                                 const EntryChanges& changes) {
  const auto& [name, kind] = *entry.whole;
  const bool is_own_entry =
      is_key || std::count(entry.name.begin() + static_cast<ptrdiff_t>(name.size()),
                           entry.name.end(), '/') <= (name.empty() ? 1 : 2);
  if (kind != WholeValue::Kind::kKeyed) return record_.add_entries(full(name), changes);
  if (!is_own_entry) record_.add_within(full(name), changes);
}

std::string PartsPlanner::pattern_of(const StructureFit::Entry& entry) const {
  const std::string name = full(entry.name);
  const size_t slash = name.rfind('/');
  if (entry.is_nullable || entry.name.empty() || slash == std::string::npos)
    return pattern_for(name) + (entry.parts.front() == entry.name ? "" : "/*");
  return pattern_for(name.substr(0, slash)) + "/*";
}

void PartsPlanner::plan_parts(const Structure& structure, const WholeValues& wholes,
                              const WholeValues::Names& own) {
  std::set<std::string, std::less<>> present_keys, present_planners;
  for (const StatePart& part : present_) {
    present_keys.insert(part.key);
    if (part.planned_by) present_planners.insert(*part.planned_by);
  }
  for (const StatePart& part : structure.parts) {
    if (!selection_.selects_part(name_, full(part.key)) || is_in(own, part)) continue;
    if (is_marker(part.key) && !names_.contains(part.key) && !structure.fit.left_out.empty())
      continue;  // It is empty as what is stored is left out.
    const bool is_present = !wholes.is_of_other_class(part) &&
                            (part.planned_by ? present_planners.contains(*part.planned_by)
                                             : present_keys.contains(part.key));
    if (part.is_object)
      plan_object(part, is_present);
    else
      plan_array(part, is_present);
  }
}

bool PartsPlanner::keeps(const StatePart& part) const {
  return record_.keeps(full(part.key)) ||
         (!part.named_after.empty() && record_.stays_own(part.named_after));
}

void PartsPlanner::plan_array(const StatePart& part, bool is_present) {
  const std::string name = full(part.key);
  const Item* const found = entry_of(part);
  if (found == nullptr && part.is_optional) return;
  if (is_present && keeps(part)) return record_.add_kept(name, found);
  if (found == nullptr) return record_.add_missing(name, expected_of(part));
  record_.add_used(record_.view_name(name), *found);
  const StoredParts::Part own = stored_part(*found);
  const auto fit =
      record_.fit_of(name, {own.dtype, own.shape}, {part.dtype, part.shape}, part.named_after);
  if (!fit) return;
  record_.add_restored(name, found->first);
  if (is_present && part.present_shape && !fit->reshaped && !part.is_key)
    record_.add_size(name, own.shape, *part.present_shape, whole_of(part));
  PartEntry entry{part.key, found->first, {}, slice_of(*found)};
  if (fit->is_converted || fit->reshaped)
    entry.as = StoredParts::Part{part.dtype, fit->reshaped.value_or(own.shape)};
  object_.entries.push_back(std::move(entry));
}

void PartsPlanner::plan_object(const StatePart& part, bool is_present) {
  const std::string name = full(part.key);
  const size_t before = object_.entries.size();
  const bool keeps_all = is_present && keeps(part);
  bool is_kept = keeps_all;
  const auto add = [&](const std::string& key, const std::string& stored_as) {
    const std::string entry = name + key.substr(part.key.size());
    const Item& item = record_.stored().item(stored_as);
    if (keeps_all || (is_present && record_.keeps(entry))) {
      is_kept = true;
      return record_.add_kept(entry, &item);
    }
    record_.add_used(record_.view_name(entry), item);
    object_.entries.push_back({key, stored_as, {}, slice_of(item)});
  };
  for_each_at(names_, part.key, [&](const auto& entry) { add(entry.first, entry.second); });
  if (object_.entries.size() > before)
    return record_.add_restored(name, name_without_key(object_.entries[before], part.key));
  if (!is_kept && !part.is_optional) record_.add_missing(name, std::nullopt);
}

const PartsPlanner::Item* PartsPlanner::entry_of(const StatePart& part) const {
  const auto found = names_.find(part.key);
  return found == names_.end() ? nullptr : &record_.stored().item(found->second);
}

std::optional<TensorSlice> PartsPlanner::slice_of(const Item& item) const {
  const Shape& shape = item.second.shape;
  if (!object_.rows || shape.rank() == 0) return std::nullopt;
  TensorSlice slice = whole_slice(shape);
  slice[0] = object_.rows->rows_of(shape[0]);
  return slice;
}

StoredParts::Part PartsPlanner::stored_part(const Item& item) const {
  const std::optional<TensorSlice> slice = slice_of(item);
  return {item.second.dtype, slice ? shape_of(*slice) : item.second.shape};
}

// The outermost value with this part that options keep as a whole if its size differs.
std::optional<WholeValue> PartsPlanner::whole_of(const StatePart& part) const {
  for (const WholeValue& each : part.wholes)
    if (each.kind == WholeValue::Kind::kKeyed || each.kind == WholeValue::Kind::kColumns)
      return WholeValue{full(each.name), each.kind};
  return std::nullopt;
}

}  // namespace crochet::inline v0::internal
