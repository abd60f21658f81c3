// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/restore_record.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/log.h"
#include "crochet/checkpoint/saver/internal/entry_owners.h"
#include "crochet/checkpoint/saver/internal/owned_names.h"
#include "crochet/tensor/internal/convert.h"

namespace crochet::inline v0::internal {
namespace {

// Whether a name is the run's own, and not one that the program gave.
RenamedEntries::IsFixed fixed_names(const Graph& graph) {
  return [step = graph.global_step_name()](std::string_view name) {
    return name == step || is_hook_state(name);
  };
}

// A pattern with a `*` is about what the program tracks, and not about the state of hooks.
bool matches(const NamePatterns& patterns, const std::string& name) {
  return is_hook_state(name) ? patterns.match_without_star(name) : patterns.match(name);
}

}  // namespace

bool is_hook_state(std::string_view name) { return name.starts_with("hooks/"); }

RestoreRecord::RestoreRecord(const Graph& graph, const CheckpointReader& reader,
                             const VariableSelection& selection, RestoreRules rules)
    : graph_(graph),
      reader_(reader),
      stored_(CheckpointContents::of(reader)),
      selection_(selection),
      rules_(std::move(rules)),
      entries_(stored_, rules_.options.rename, fixed_names(graph)),
      ranks_(RankLayout::find(graph)),
      used_(stored_.stored().size()) {
  report_.prefix = mismatch_.prefix = reader.prefix();
  if (!rules_.options.rename.empty()) rename_owned_parts();
}

void RestoreRecord::rename_owned_parts() {
  std::vector<OwnedName> values = value_names(graph_);
  for (OwnedName& value : values)
    value = {view_name(value.name), view_name(value.owner), view_name(value.object)};
  entries_.follow_owners(std::move(values));
}

bool RestoreRecord::keeps(const std::string& name) const {
  return matches(rules_.options.keep, name);
}

bool RestoreRecord::stays(const std::string& name) const {
  return matches(rules_.options.allow_missing, name) || keeps(name);
}

// Not by `true`, which is about names that the program lacks: data that has grown would be lost.
bool RestoreRecord::leaves_out_entry(const std::string& name) const {
  return !rules_.options.allow_surplus.is_all() && matches(rules_.options.allow_surplus, name);
}

std::optional<RestoreRecord::Fit> RestoreRecord::find_fit(const std::string& name,
                                                          const RestoreMismatch::Value& stored,
                                                          const RestoreMismatch::Value& expected,
                                                          const std::string& owner) const {
  const auto match = [&](const NamePatterns& patterns) {
    return patterns.match(name) || (!owner.empty() && patterns.match(owner));
  };
  const bool fits = stored.shape.is_compatible_with(expected.shape);
  std::optional<Shape> shape;
  if (!fits && match(rules_.options.reshape)) shape = reshaped(stored.shape, expected.shape);
  const bool is_converted = stored.dtype != expected.dtype && match(rules_.options.convert_dtype) &&
                            can_convert(stored.dtype, expected.dtype);
  if ((!fits && !shape) || (stored.dtype != expected.dtype && !is_converted)) return std::nullopt;
  return Fit{std::move(shape), is_converted};
}

std::optional<RestoreRecord::Fit> RestoreRecord::fit_of(const std::string& name,
                                                        const RestoreMismatch::Value& stored,
                                                        const RestoreMismatch::Value& expected,
                                                        const std::string& owner) {
  std::optional<Fit> fit = find_fit(name, stored, expected, owner);
  if (!fit) {
    staying_.insert(name);
    if (rules_.options.allow_mismatched.match(name))
      add_unchanged(name);
    else
      mismatch_.changed.push_back({name, stored, expected});
    return std::nullopt;
  }
  if (fit->reshaped) report_.reshaped.push_back(name);
  if (fit->is_converted) report_.converted.push_back(name);
  return fit;
}

void RestoreRecord::add_used(const std::string& name, const Item& item) {
  used_[number_of(item)] = true;
  entries_.use(name);
}

void RestoreRecord::add_restored(const std::string& name, const std::string& stored_as) {
  report_.restored.push_back(name);
  if (stored_as != name) report_.renamed.emplace(name, stored_as);
}

void RestoreRecord::add_kept(const std::string& name, const Item* item) {
  if (item != nullptr) add_used(view_name(name), *item);
  add_kept(name);
}

void RestoreRecord::add_missing(const std::string& name,
                                std::optional<RestoreMismatch::Value> value, bool is_optional) {
  staying_.insert(name);
  if (is_optional || rules_.options.allow_missing.match(name)) return add_unchanged(name);
  std::string stored_as = stored_name(name);
  const auto& unreadable = stored_.opened().unreadable;
  if (const auto why = unreadable.find(stored_as); why != unreadable.end())
    mismatch_.others.push_back(
        fmt::format("\"{}\" cannot be read: it {}", why->first, why->second.why));
  else
    mismatch_.missing.push_back({name, std::move(stored_as), std::move(value)});
}

void RestoreRecord::take_back(const std::string& name) {
  std::erase(report_.restored, name);
  report_.renamed.erase(name);
  add_unchanged(name);
}

void RestoreRecord::add_size(const std::string& name, const Shape& now, const Shape& before,
                             const std::optional<WholeValue>& whole) {
  if (is_hook_state(name)) return;
  if (ranks_ && ranks_->has_rows(name)) return;  // The rows of a rank may always be others.
  // A variable of a graph may have any shape until it has a value.
  if (now == before || !before.is_fully_known() || before.num_elements() == 0) return;
  if (whole && whole->kind == WholeValue::Kind::kKeyed) {
    within_[whole->name].resized.push_back({name, now, before});
    return;
  }
  report_.resized.push_back({name, now, before});
  changes_.add_resized(name, now, before, whole ? whole->name : name);
}

void RestoreRecord::add_dropped(const std::string& name, const std::string& pattern) {
  if (is_hook_state(name)) return;
  report_.dropped.push_back(name);
  changes_.add_dropped(pattern, name);
}

void RestoreRecord::add_made(const std::string& name, const std::string& pattern, bool is_awaited) {
  if (is_hook_state(name)) return;
  report_.made.push_back(name);
  if (!is_awaited) changes_.add_made(pattern, name);
}

void RestoreRecord::add_entries(const std::string& name, const EntryChanges& changes) {
  if (is_hook_state(name)) return;
  const auto add = [&](std::vector<std::string>& names) {
    if (std::ranges::count(names, name) == 0) names.push_back(name);
  };
  if (changes.has_dropped) add(report_.dropped);
  if (changes.has_made) add(report_.made);
  if (!changes.was_empty && (changes.has_dropped || changes.has_made)) changes_.add_replaced(name);
}

void RestoreRecord::add_within(const std::string& name, const EntryChanges& changes) {
  EntryChanges& within = within_[name].changes;
  within.has_dropped |= changes.has_dropped;
  within.has_made |= changes.has_made;
  within.was_empty = changes.was_empty && !within.has_dropped;
}

void RestoreRecord::add_keys(const std::string& name, const EntryChanges& changes) {
  add_entries(name, changes);
  const auto within = within_.find(name);
  if (changes.has_dropped || changes.has_made || within == within_.end()) return;
  add_entries(name, within->second.changes);
  if (within->second.resized.empty()) return;
  std::ranges::move(within->second.resized, std::back_inserter(report_.resized));
  changes_.add_replaced(name);
}

void RestoreRecord::check_all() {
  find_surplus();
  find_idle_renames();
  if (!mismatch_.empty()) throw_mismatch(mismatch_, to_string(mismatch_));
}

void RestoreRecord::find_surplus() {
  // Of the names of one stored tensor, one is enough.
  const auto& aliases = stored_.opened().aliases;
  for (const auto& [alias, name] : aliases)
    if (used_[number_of(stored_.item(alias))]) used_[number_of(stored_.item(name))] = true;
  for (const Item& item : stored_.items()) {
    if (used_[number_of(item)] || aliases.contains(item.first)) continue;
    const auto& [name, entry] = item;
    if (ranks_ && ranks_->rank_name(name)) continue;  // Another rank's.
    add_left_out(name);
    if (!selection_.selects_all() || rules_.options.allow_surplus.match(name)) continue;
    if (is_hook_state(name)) {
      log_warning(fmt::format("checkpoint {}: no hook of this run uses the state \"{}\"",
                              reader_.prefix(), name));
    } else {
      mismatch_.surplus.push_back({name, {entry.dtype, entry.shape}});
    }
  }
}

// A rule for values that are not selected is another restore's.
void RestoreRecord::find_idle_renames() {
  if (rules_.options.rename.empty()) return;
  EntryOwners owners(graph_, selection_);
  entries_.for_each([&](const std::string& name, const Item&) {
    std::string key;
    const auto* const owner = owners.owner_of(name, key);
    const bool is_selected =
        owner != nullptr ? selection_.selects_part(owner->name, name) : selection_.selects(name);
    if (!is_selected && (owner != nullptr || owners.is_variable(name))) entries_.use(name);
  });
  mismatch_.idle_renames = entries_.idle_rules();
}

}  // namespace crochet::inline v0::internal
