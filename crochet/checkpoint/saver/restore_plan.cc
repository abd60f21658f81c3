// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/restore_plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/dynamic_type.h"
#include "crochet/base/internal/prefetch.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/file/checkpoint_contents.h"
#include "crochet/checkpoint/file/checkpoint_pass.h"
#include "crochet/checkpoint/saver/entry_owners.h"
#include "crochet/checkpoint/saver/keyed_rows.h"
#include "crochet/checkpoint/saver/owned_names.h"
#include "crochet/checkpoint/saver/part_reads.h"
#include "crochet/checkpoint/saver/renamed_entries.h"
#include "crochet/checkpoint/saver/restore_changes.h"
#include "crochet/checkpoint/saver/restore_mismatch.h"
#include "crochet/checkpoint/saver/row_partition.h"
#include "crochet/checkpoint/saver/structure_fit.h"
#include "crochet/checkpoint/saver/variable_reads.h"
#include "crochet/checkpoint/saver/whole_values.h"
#include "crochet/io/path.h"
#include "crochet/session/naming_state.h"
#include "crochet/session/parted_saveable.h"
#include "crochet/session/rank_state.h"
#include "crochet/tensor/convert.h"
#include "crochet/tensor/fmt.h"

namespace crochet::inline v0 {
namespace {

// True for the state of hooks, which may differ from run to run: the program has not named it.
bool is_hook_state(std::string_view name) { return name.starts_with("hooks/"); }

using internal::EntryOwners;
using internal::KeyedRows;
using internal::RestoreMismatch;
using internal::stored_shape;
using internal::StructureFit;
using internal::VariableSelection;
using internal::WholeValues;

// Whether a name is the run's own, and not one that the program gave.
internal::RenamedEntries::IsFixed fixed_names(const Graph& graph) {
  return [step = graph.global_step_name()](std::string_view name) {
    return name == step || is_hook_state(name);
  };
}

// How to restore the tensors of one checkpoint to one graph.
class RestorePlan {
 public:
  // Checks all names, types and shapes. Throws: an error that lists all mismatches.
  RestorePlan(const Graph& graph, const CheckpointReader& reader,
              const VariableSelection& selection, RestoreRules rules)
      : graph_(graph),
        reader_(reader),
        stored_(internal::CheckpointContents::of(reader)),
        selection_(selection),
        rules_(std::move(rules)),
        entries_(stored_, rules_.rename, fixed_names(graph)),
        ranks_(internal::RankState::find(graph)),
        variables_(reader),
        used_(stored_.stored().size()) {
    report_.prefix = mismatch_.prefix = reader.prefix();
    rename_owned_parts();
    count_ranks();
    const VariableSelection::Selected selected = selection.select(graph);
    variables_.reserve(selected.variables.size());
    report_.restored.reserve(selected.variables.size());
    internal::for_each_prefetched(
        std::span<const Variable>(selected.variables),
        [](const Variable& variable) { internal::prefetch(variable.info()); },
        [this](const Variable& variable) { plan_variable(variable); });
    plan_objects(selected.objects);
    find_surplus();
    find_idle_renames();
    if (!mismatch_.empty()) internal::throw_mismatch(mismatch_, internal::to_string(mismatch_));
  }

  RestoreReport execute(Session& session, StateOperations* operations,
                        const std::function<void()>& initialize) {
    // Objects without parts are small: all are read before anything is overwritten.
    std::vector<TensorMap> states = read_objects();
    if (operations == nullptr || initialize) variables_.assign(session);
    if (operations != nullptr) {
      if (initialize) initialize();
      run(*operations, session);
    }
    internal::PartReads reads(
        reader_,
        [this](const std::string& name, const Saveable& object, TensorMap state) {
          return fitted(name, object, std::move(state));
        },
        [this](const std::string& name, const EntryChanges& changes) { note_keys(name, changes); });
    for (size_t i = 0; i < objects_.size(); ++i) {
      const ObjectPart& part = objects_[i];
      const RegisteredSaveable& object = *part.object;
      if (part.parted != nullptr) {
        reads.begin(object.name, *part.parted, part.stored, part.entries);
      } else {
        reads.finish();  // An object may need what was tracked before it.
        restore(object, fitted(object.name, *object.object, std::move(states[i])));
      }
    }
    reads.finish();
    if (!changes_.empty() && !rules_.is_recovery)
      log_info(fmt::format("{}: {}", reader_.prefix(), changes_.to_string()));
    return std::move(report_);
  }

 private:
  using Item = internal::StoredTensors::Item;  // Of the checkpoint.
  using Entry = internal::PartEntry;
  using Names = std::set<std::string, std::less<>>;
  using NamesByKey = std::map<std::string, std::string, std::less<>>;  // In the file, by key.
  struct ObjectPart {
    const RegisteredSaveable* object;
    std::vector<Entry> entries;
    std::vector<std::string> kept = {};  // Keys of entries that keep the object's values.
    PartedSaveable* parted = nullptr;    // Null for an object without named parts.
    StoredParts stored = {};             // Its parts, all that are to be restored.
    // Of what ranks have together by rows: those of this rank.
    std::optional<internal::RowPartition> rows = {};
  };

  void rename_owned_parts() {
    if (rules_.rename.empty()) return;
    std::vector<internal::OwnedName> parts = internal::owned_names(graph_);
    for (auto& [name, owner] : parts) {
      name = view_name(name);
      owner = view_name(owner);
    }
    entries_.follow_owners(parts);
  }

  // The number of ranks of which the checkpoint has a value, for each value that ranks have for
  // themselves.
  void count_ranks() {
    if (!ranks_ || ranks_->per_rank().empty()) return;
    entries_.for_each([&](const std::string& name, const Item&) {
      if (const auto found = ranks_->rank_name(name))
        stored_ranks_[std::string(found->name)].insert(found->rank);
    });
    for (const auto& [name, stored] : stored_ranks_) {
      const int size = ranks_->size();
      if (std::cmp_equal(stored.size(), size) && *stored.rbegin() == size - 1) continue;
      fresh_.insert(name);
      if (ranks_->per_rank().at(name) == Regroup::kRefuse)
        mismatch_.others.push_back(
            fmt::format("\"{}\" has the values of {} ranks in the checkpoint, expected {}; start "
                        "with {} ranks, or track it by per_rank(..., Regroup::kFresh) to keep its "
                        "initial values",
                        name, stored.size(), size, stored.size()));
    }
  }
  // True for a rank's own value that keeps its initial value, as there are other ranks now.
  bool stays_fresh(const std::string& name) {
    if (fresh_.empty()) return false;
    const auto found = ranks_->rank_name(name);
    if (!found || !fresh_.contains(std::string(found->name))) return false;
    report_.missing.push_back(name);
    return true;
  }

  void plan_variable(const Variable& variable) {
    const std::string& name = variable.name();
    if (stays_fresh(name)) return;
    if (const auto* const part = ranks_ ? ranks_->part_of(name) : nullptr; part && part->is_empty) {
      // Nothing is read; the others' parts are there.
      if (const Item* const found = entries_.find(name)) note_used(name, *found);
      return note_restored(name, name);
    }
    const VariableSelection::Place place = selection_.place_of(name, ranks_.get());
    const Item* const found = entries_.find(place.key);
    if (keeps(name)) return note_kept(name, place.key, found);
    if (found == nullptr)
      return note_missing({name, entries_.stored_name(place.key),
                           RestoreMismatch::Value{variable.dtype(), variable.shape()}},
                          !rules_.allow_missing.match(name));
    note_used(place.key, *found);
    const internal::StoredTensor& entry = found->second;
    if (place.slice != nullptr && place.slice->full_shape != entry.shape) {
      mismatch_.others.push_back(
          fmt::format("\"{}\" is a slice of {}, but \"{}\" is {} in the checkpoint", name,
                      place.slice->full_shape, found->first, entry.shape));
      return;
    }
    const TensorSlice* const slice = place.slice ? &place.slice->slice : nullptr;
    const std::optional<Fit> fit = fit_of(name, {entry.dtype, stored_shape(entry, slice)},
                                          {variable.dtype(), variable.shape()});
    if (!fit) return;
    note_restored(name, found->first);
    if (!variable.shape().is_fully_known())
      note_size(name, stored_shape(entry, slice), graph_.present_shape(variable));
    variables_.add({variable, fit->reshaped, fit->is_converted, found, slice});
  }

  // How a stored value becomes one of the program's. Unset if it does not.
  struct Fit {
    std::optional<Shape> reshaped;  // To this shape of the program's.
    bool is_converted;
  };
  // Options about `owner`, to which it belongs, apply to it.
  std::optional<Fit> find_fit(const std::string& name, const RestoreMismatch::Value& stored,
                              const RestoreMismatch::Value& expected,
                              const std::string& owner = "") const {
    const auto match = [&](const NamePatterns& patterns) {
      return patterns.match(name) || (!owner.empty() && patterns.match(owner));
    };
    const bool fits = stored.shape.is_compatible_with(expected.shape);
    std::optional<Shape> shape;
    if (!fits && match(rules_.reshape)) shape = internal::reshaped(stored.shape, expected.shape);
    const bool is_converted = stored.dtype != expected.dtype && match(rules_.convert_dtype) &&
                              internal::can_convert(stored.dtype, expected.dtype);
    if ((!fits && !shape) || (stored.dtype != expected.dtype && !is_converted)) return std::nullopt;
    return Fit{std::move(shape), is_converted};
  }
  // The same. Without one, the program's value stays if the options allow it; otherwise the
  // mismatch is recorded.
  std::optional<Fit> fit_of(const std::string& name, const RestoreMismatch::Value& stored,
                            const RestoreMismatch::Value& expected, const std::string& owner = "") {
    std::optional<Fit> fit = find_fit(name, stored, expected, owner);
    if (!fit) {
      staying_.insert(name);
      if (rules_.allow_mismatched.match(name))
        report_.missing.push_back(name);
      else
        mismatch_.changed.push_back({name, stored, expected});
      return std::nullopt;
    }
    if (fit->reshaped) report_.reshaped.push_back(name);
    if (fit->is_converted) report_.converted.push_back(name);
    return fit;
  }

  void plan_objects(const std::vector<const RegisteredSaveable*>& objects) {
    EntryOwners owners(graph_, selection_);
    std::map<const RegisteredSaveable*, std::vector<Entry>> entries;
    std::map<const RegisteredSaveable*, std::string> row_counts;  // Names of entries.
    entries_.for_each([&](const std::string& name, const Item& item) {
      std::string key;
      const auto* const owner = owners.owner_of(name, key);
      if (internal::has_row_counts(name)) {  // Not a value of the program's.
        note_used(name, item);
        if (key == internal::kRowsName) row_counts.emplace(owner, item.first);
      } else if (owner != nullptr) {
        entries[owner].push_back({std::move(key), item.first});
      }
    });
    for (const RegisteredSaveable* const object : objects) {
      if (stays_fresh(object->name)) continue;
      ObjectPart part{object, std::move(entries[object])};
      if (ranks_ && ranks_->has_rows(object->name)) {
        const auto counts = row_counts.find(object);
        part.rows.emplace(counts == row_counts.end()
                              ? std::nullopt
                              : internal::read_row_counts(reader_, counts->second),
                          ranks_->rank(), ranks_->size());
      }
      part.parted = internal::dynamic_as<PartedSaveable>(object->object.get());
      if (part.parted != nullptr)
        plan_parts(std::move(part));
      else
        plan_object(std::move(part));
    }
  }

  void plan_object(ObjectPart part) {
    const RegisteredSaveable& object = *part.object;
    const std::string own_key = selection_.place_of(object.name).key;
    const std::string stored_as = entries_.stored_name(own_key);
    take_kept(object.name, part.entries, part.kept);
    if (part.entries.empty() && (!part.kept.empty() || keeps(object.name))) return;
    for (const Entry& entry : part.entries)
      note_used(entry.key.empty() ? own_key : own_key + '/' + entry.key, entry.name);
    if (!part.entries.empty()) {
      note_restored(object.name, without_key(part.entries.front(), ""));
      objects_.push_back(std::move(part));
      return;
    }
    if (object.optional)
      log_warning(fmt::format("checkpoint {} has no state of \"{}\"; it starts afresh",
                              reader_.prefix(), object.name));
    note_missing({object.name, stored_as, std::nullopt},
                 !object.optional && !rules_.allow_missing.match(object.name));
  }

  // Removes the entries that keep the program's values.
  void take_kept(const std::string& object, std::vector<Entry>& entries,
                 std::vector<std::string>& kept) {
    if (rules_.keep.empty()) return;
    const bool keeps_all = keeps(object);
    std::erase_if(entries, [&](const Entry& entry) {
      const std::string full = entry.key.empty() ? object : join_path(object, entry.key);
      if (!keeps_all && !keeps(full)) return false;
      note_kept(full, view_name(full), &stored_.item(entry.name));
      kept.push_back(entry.key);
      return true;
    });
  }

  // The parts are planned one by one, as variables are, after those that the checkpoint has
  // determined which parts the object will have.
  void plan_parts(ObjectPart object) {
    const std::string& name = object.object->name;
    const auto full_key = [&](const std::string& key) { return full_name(name, key); };
    NamesByKey names;
    StoredParts::Map stored;
    bool is_partial = false;
    for (Entry& entry : object.entries) {
      if (!selection_.selects_part(name, full_key(entry.key))) {
        is_partial = true;
        continue;
      }
      stored.emplace(entry.key, stored_part(object, stored_.item(entry.name)));
      names.emplace(std::move(entry.key), std::move(entry.name));
    }
    object.entries.clear();
    if (stored.empty()) {
      // What has no parts has nothing to be missed.
      if (is_partial || !selection_.selects_part(name, name)) return;
      const std::vector<StatePart> parts = object.parted->parts_for(StoredParts());
      if (std::ranges::any_of(parts, &StatePart::is_fixed))
        return plan_missing_parts(parts, full_key);
      if (!parts.empty())
        note_missing({name, entries_.stored_name(view_name(name)), std::nullopt},
                     !rules_.allow_missing.match(name));
      return;
    }
    const std::vector<StatePart> present = object.parted->present_parts(StoredParts(stored));
    const WholeValues wholes(present, stored,
                             [&](const std::string& key) { return keeps(full_key(key)); });
    for (const auto& [value, part] : wholes.partly_kept())
      refuse_to_keep(full_key(value), full_key(part));
    WholeValues::Names own = wholes.kept();
    std::optional<PartsPlan> plan = parts_plan(object, present, wholes, stored, own, is_partial);
    if (plan) {
      const WholeValues::Names mixed = wholes.mixed(
          plan->parts, [&](const StatePart& part) { return fate_of(object, part, names); });
      own.insert(mixed.begin(), mixed.end());
      if (own.size() > wholes.kept().size())
        plan = parts_plan(object, present, wholes, stored, own, is_partial);
    }
    if (!plan) {
      for (const auto& [key, stored_as] : names) note_used(view_name(full_key(key)), stored_as);
      return;
    }
    const StructureFit& fit = plan->fit;
    for (const std::string& marker : fit.void_markers)
      note_used(view_name(full_key(marker)), names.at(marker));
    for (const std::string& value : own)
      note_own(name, value, present, names, wholes.kept().contains(value));
    note_structure(name, fit, present, plan->parts, names);
    plan_each_part(object, present, *plan, own, names);
    objects_.push_back(std::move(object));
  }

  // The structure that an object is to have, and the parts that it then has.
  struct PartsPlan {
    StructureFit fit;
    std::vector<StatePart> parts = {};
  };
  // `own` are values that keep the program's parts. Unset if the object cannot have the parts.
  std::optional<PartsPlan> parts_plan(ObjectPart& object, const std::vector<StatePart>& present,
                                      const WholeValues& wholes, const StoredParts::Map& stored,
                                      const WholeValues::Names& own, bool is_partial) {
    const std::string& name = object.object->name;
    PartsPlan plan{StructureFit(present, wholes.with_own(stored, own), rules_of_parts(name))};
    object.stored = StoredParts(std::move(plan.fit.wanted), is_partial);
    try {
      plan.parts = object.parted->parts_for(object.stored);
    } catch (const InvalidArgumentError& error) {
      mismatch_.others.push_back(fmt::format("\"{}\": {}", name, error.what()));
      return std::nullopt;
    }
    return plan;
  }

  void plan_each_part(ObjectPart& object, const std::vector<StatePart>& present,
                      const PartsPlan& plan, const WholeValues::Names& own,
                      const NamesByKey& names) {
    const std::string& name = object.object->name;
    Names present_names, present_planned;
    for (const StatePart& part : present) {
      present_names.insert(part.key);
      if (part.planned_by) present_planned.insert(*part.planned_by);
    }
    for (const StatePart& part : plan.parts) {
      const std::string full = full_name(name, part.key);
      if (!selection_.selects_part(name, full) || is_in(own, part)) continue;
      if (internal::is_marker(part.key) && !names.contains(part.key) && !plan.fit.left_out.empty())
        continue;  // It is empty as what is stored is left out.
      const bool is_present = part.planned_by ? present_planned.contains(*part.planned_by)
                                              : present_names.contains(part.key);
      if (part.is_object)
        plan_object_part(object, part, full, names, is_present);
      else
        plan_array_part(object, part, full, names, is_present);
    }
  }

  static bool is_in(const WholeValues::Names& values, const StatePart& part) {
    return std::ranges::any_of(
        part.wholes, [&](const WholeValue& whole) { return values.contains(whole.name); });
  }

  void refuse_to_keep(const std::string& value, const std::string& part) {
    mismatch_.others.push_back(fmt::format(
        "\"{0}\" is kept as a whole or not at all, as its entries may be others in the checkpoint: "
        "restore.keep has \"{1}\", and not all of it; write .keep = {{{2}}}, or leave \"{1}\" out",
        value, part, internal::literal(internal::pattern_for(value))));
  }

  // What the options do to a part of a value that the program has.
  WholeValues::Fate fate_of(const ObjectPart& object, const StatePart& part,
                            const NamesByKey& names) const {
    using enum WholeValues::Fate;
    const std::string full = full_name(object.object->name, part.key);
    if (part.is_object || part.is_optional) return kRestored;
    const Item* const found = entry_of(part, names);
    if (found == nullptr) return rules_.allow_missing.match(full) ? kMissing : kRestored;
    const StoredParts::Part stored = stored_part(object, *found);
    return rules_.allow_mismatched.match(full) &&
                   !find_fit(full, {stored.dtype, stored.shape}, {part.dtype, part.shape},
                             part.named_after)
               ? kMismatched
               : kRestored;
  }

  // Of a value that keeps the program's parts, as options ask for, or as it would get some only.
  void note_own(const std::string& object, const std::string& value,
                const std::vector<StatePart>& present, const NamesByKey& names, bool is_kept) {
    for (auto each = names.lower_bound(value);
         each != names.end() && each->first.starts_with(value); ++each)
      if (internal::is_at(each->first, value))
        note_used(view_name(full_name(object, each->first)), each->second);
    for (const StatePart& part : present)
      if (is_in({value}, part) && !internal::is_marker(part.key))
        (is_kept ? report_.kept : report_.missing).push_back(full_name(object, part.key));
  }

  // Of an object of which the checkpoint has nothing.
  template <typename FullName>
  void plan_missing_parts(const std::vector<StatePart>& parts, const FullName& full_key) {
    for (const StatePart& part : parts) {
      const std::string full = full_key(part.key);
      std::optional<RestoreMismatch::Value> value;
      if (!part.is_object) value = RestoreMismatch::Value{part.dtype, part.shape};
      if (part.is_optional) continue;
      if (keeps(full))
        note_kept(full, view_name(full), nullptr);
      else
        note_missing({full, entries_.stored_name(view_name(full)), value},
                     !rules_.allow_missing.match(full));
    }
  }

  // The part of an entry that this rank takes; unset for all of it.
  static std::optional<TensorSlice> slice_of(const ObjectPart& object, const Item& item) {
    const Shape& shape = item.second.shape;
    if (!object.rows || shape.rank() == 0) return std::nullopt;
    TensorSlice slice = internal::whole_slice(shape);
    slice[0] = object.rows->rows_of(shape[0]);
    return slice;
  }
  static StoredParts::Part stored_part(const ObjectPart& object, const Item& item) {
    const std::optional<TensorSlice> slice = slice_of(object, item);
    return {item.second.dtype, slice ? internal::shape_of(*slice) : item.second.shape};
  }

  // Null if the checkpoint lacks the part.
  const Item* entry_of(const StatePart& part, const NamesByKey& names) const {
    const auto found = names.find(part.key);
    return found == names.end() ? nullptr : &stored_.item(found->second);
  }

  StructureFit::Rules rules_of_parts(const std::string& name) const {
    return {.stays =
                [this, name](const std::string& part) {
                  const std::string full = full_name(name, part);
                  return !selection_.selects_part(name, full) || stays(full);
                },
            .is_left_out =
                [this, name](const std::string& part) {
                  return leaves_out_entry(full_name(name, part));
                }};
  }
  // Not by `true`, which is about names that the program lacks: data that has grown would be lost.
  bool leaves_out_entry(const std::string& name) const {
    return !rules_.allow_surplus.is_all() && matches(rules_.allow_surplus, name);
  }
  bool stays(const std::string& name) const {
    return matches(rules_.allow_missing, name) || keeps(name);
  }
  bool keeps(const std::string& name) const { return matches(rules_.keep, name); }
  // What belongs to a value that stays would not fit it, or not be of it: a part stays with its
  // owner.
  bool keeps_part(const StatePart& part, const std::string& full) const {
    return keeps(full) || (!part.named_after.empty() && stays_own(part.named_after));
  }
  // True for a value that keeps the program's value, also if this is an error.
  bool stays_own(const std::string& name) const { return keeps(name) || staying_.contains(name); }
  // A pattern with a `*` is about what the program tracks, and not about the state of hooks.
  static bool matches(const NamePatterns& patterns, const std::string& name) {
    return is_hook_state(name) ? patterns.match_without_star(name) : patterns.match(name);
  }

  // Entries of containers that are dropped or made; those of a container that is fixed do not fit.
  // What else differs are parts of structs, which are planned one by one.
  void note_structure(const std::string& object, const StructureFit& fit,
                      const std::vector<StatePart>& present, const std::vector<StatePart>& parts,
                      const NamesByKey& names) {
    const auto full_key = [&](const std::string& key) { return full_name(object, key); };
    const PartsByKey old_parts = by_key(present), new_parts = by_key(parts);
    for (const StructureFit::Entry& entry : fit.only_present) {
      if (new_parts.contains(entry.parts.front())) continue;
      for (const std::string& part : entry.parts)
        if (const StatePart& own = *old_parts.at(part); own.is_structure_fixed && !own.is_optional)
          mismatch_.missing.push_back(
              {full_key(part), entries_.stored_name(view_name(full_key(part))),
               own.is_object ? std::nullopt
                             : std::optional(RestoreMismatch::Value{own.dtype, own.shape})});
      if (entry.whole)
        note_within(object, entry, old_parts.at(entry.parts.front())->is_key,
                    {.has_dropped = true});
      else
        note_dropped(full_key(entry.name), pattern_of(full_key(entry.name), entry));
    }
    for (const StructureFit::Entry& entry : fit.only_stored) {
      const StatePart* const made = owner_in(new_parts, entry.parts.front());
      if (made == nullptr) continue;
      if (made->is_structure_fixed)
        for (const std::string& part : entry.parts) {
          const auto& stored = stored_.item(names.at(part)).second;
          mismatch_.surplus.push_back({names.at(part), {stored.dtype, stored.shape}});
        }
      if (entry.whole)
        note_within(object, entry, made->is_key, {.was_empty = entry.is_awaited, .has_made = true});
      else
        note_made(full_key(entry.name), pattern_of(full_key(entry.name), entry), entry.is_awaited);
    }
  }

  // Of an entry within a value that options keep as a whole. Entries of a keyed container itself
  // are noted when its keys are read.
  void note_within(const std::string& object, const StructureFit::Entry& entry, bool is_key,
                   const EntryChanges& changes) {
    const auto& [name, kind] = *entry.whole;
    const bool is_own_entry =
        is_key || std::count(entry.name.begin() + static_cast<ptrdiff_t>(name.size()),
                             entry.name.end(), '/') <= (name.empty() ? 1 : 2);
    if (kind != WholeValue::Kind::kKeyed) return note_entries(full_name(object, name), changes);
    if (is_own_entry) return;
    EntryChanges& within = within_[full_name(object, name)].changes;
    within.has_dropped |= changes.has_dropped;
    within.has_made |= changes.has_made;
    within.was_empty = changes.was_empty && !within.has_dropped;
  }
  // When the keys of a container have been read. What differs within its entries is known only of
  // the same ones.
  void note_keys(const std::string& name, const EntryChanges& changes) {
    note_entries(name, changes);
    const auto within = within_.find(name);
    if (changes.has_dropped || changes.has_made || within == within_.end()) return;
    note_entries(name, within->second.changes);
    if (within->second.resized.empty()) return;
    std::ranges::move(within->second.resized, std::back_inserter(report_.resized));
    changes_.add_replaced(name);
  }
  void note_entries(const std::string& name, const EntryChanges& changes) {
    if (is_hook_state(name)) return;
    const auto add = [&](std::vector<std::string>& names) {
      if (std::ranges::count(names, name) == 0) names.push_back(name);
    };
    if (changes.has_dropped) add(report_.dropped);
    if (changes.has_made) add(report_.made);
    if (!changes.was_empty && (changes.has_dropped || changes.has_made))
      changes_.add_replaced(name);
  }
  void note_dropped(const std::string& name, const std::string& pattern) {
    if (is_hook_state(name)) return;
    report_.dropped.push_back(name);
    changes_.add_dropped(pattern, name);
  }
  void note_made(const std::string& name, const std::string& pattern, bool is_awaited) {
    if (is_hook_state(name)) return;
    report_.made.push_back(name);
    if (!is_awaited) changes_.add_made(pattern, name);
  }

  using PartsByKey = std::map<std::string, const StatePart*, std::less<>>;
  static PartsByKey by_key(const std::vector<StatePart>& parts) {
    PartsByKey by_key;
    for (const StatePart& part : parts) by_key.emplace(part.key, &part);
    return by_key;
  }
  // The part that an entry of the checkpoint is, or belongs to, or null.
  static const StatePart* owner_in(const PartsByKey& parts, const std::string& entry) {
    if (const auto found = parts.find(entry); found != parts.end()) return found->second;
    for (size_t end = entry.rfind('/'); end != std::string::npos;
         end = end == 0 ? std::string::npos : entry.rfind('/', end - 1))
      if (const auto found = parts.find(entry.substr(0, end));
          found != parts.end() && found->second->is_object)
        return found->second;
    const auto whole = parts.find("");
    return whole != parts.end() && whole->second->is_object ? whole->second : nullptr;
  }
  // For the options that concern this entry and its neighbours.
  static std::string pattern_of(const std::string& name, const StructureFit::Entry& entry) {
    const size_t slash = name.rfind('/');
    if (entry.is_nullable || entry.name.empty() || slash == std::string::npos)
      return internal::pattern_for(name) + (entry.parts.front() == entry.name ? "" : "/*");
    return internal::pattern_for(name.substr(0, slash)) + "/*";
  }

  void plan_array_part(ObjectPart& object, const StatePart& part, const std::string& full,
                       const NamesByKey& names, bool is_present) {
    const Item* const found = entry_of(part, names);
    if (found == nullptr && part.is_optional) return;
    if (is_present && keeps_part(part, full)) return note_kept(full, view_name(full), found);
    if (found == nullptr)
      return note_missing({full, entries_.stored_name(view_name(full)),
                           RestoreMismatch::Value{part.dtype, part.shape}},
                          !rules_.allow_missing.match(full));
    note_used(view_name(full), *found);
    const StoredParts::Part own = stored_part(object, *found);
    const RestoreMismatch::Value stored{own.dtype, own.shape};
    const std::optional<Fit> fit = fit_of(full, stored, {part.dtype, part.shape}, part.named_after);
    if (!fit) return;
    note_restored(full, found->first);
    if (is_present && part.present_shape && !fit->reshaped && !part.is_key)
      note_size(full, stored.shape, *part.present_shape, whole_of(object.object->name, part));
    Entry entry{part.key, found->first, {}, slice_of(object, *found)};
    if (fit->is_converted || fit->reshaped)
      entry.as = StoredParts::Part{part.dtype, fit->reshaped.value_or(stored.shape)};
    object.entries.push_back(std::move(entry));
  }

  void plan_object_part(ObjectPart& object, const StatePart& part, const std::string& full,
                        const NamesByKey& names, bool is_present) {
    const size_t before = object.entries.size();
    const bool keeps_all = is_present && keeps_part(part, full);
    bool is_kept = keeps_all;
    const auto add = [&](const std::string& key, const std::string& name) {
      const std::string entry = full + key.substr(part.key.size());
      if (keeps_all || (is_present && keeps(entry))) {
        is_kept = true;
        return note_kept(entry, view_name(entry), &stored_.item(name));
      }
      note_used(view_name(entry), name);
      object.entries.push_back({key, name, {}, slice_of(object, stored_.item(name))});
    };
    if (const auto own = names.find(part.key); own != names.end()) add(own->first, own->second);
    const std::string start = part.key.empty() ? "" : part.key + '/';
    for (auto each = names.upper_bound(start);
         each != names.end() && each->first.starts_with(start); ++each)
      add(each->first, each->second);
    const std::string stored_as = entries_.stored_name(view_name(full));
    if (object.entries.size() == before && (is_kept || part.is_optional)) return;
    if (object.entries.size() == before)
      return note_missing({full, stored_as, std::nullopt}, !rules_.allow_missing.match(full));
    note_restored(full, without_key(object.entries[before], part.key));
  }

  static std::string full_name(const std::string& object, const std::string& key) {
    return key.empty() ? object : join_path(object, key);
  }

  // The name in the file of the object, or of its part, that has the entry.
  static std::string without_key(const Entry& entry, const std::string& part) {
    const std::string rest = entry.key.substr(part.size());
    if (rest.empty()) return entry.name;
    const std::string end = rest.starts_with('/') ? rest : '/' + rest;
    return entry.name.ends_with(end) ? entry.name.substr(0, entry.name.size() - end.size())
                                     : entry.name;
  }

  // The name of a variable or part in `entries_`.
  std::string view_name(const std::string& name) const { return selection_.place_of(name).key; }

  // Requires: an item of the checkpoint, and its name in `entries_`.
  void note_used(const std::string& name, const Item& item) {
    used_[number_of(item)] = true;
    entries_.use(name);
  }
  void note_used(const std::string& name, const std::string& stored_as) {
    note_used(name, stored_.item(stored_as));
  }
  size_t number_of(const Item& item) const {
    return static_cast<size_t>(&item - &*stored_.stored().begin());
  }

  void find_surplus() {
    // Of the names of one stored tensor, one is enough.
    const auto& aliases = stored_.opened().aliases;
    for (const auto& [alias, name] : aliases)
      if (used_[number_of(stored_.item(alias))]) used_[number_of(stored_.item(name))] = true;
    for (const Item& item : stored_.items()) {
      if (used_[number_of(item)] || aliases.contains(item.first)) continue;
      const auto& [name, entry] = item;
      if (ranks_ && ranks_->rank_name(name)) continue;  // Another rank's.
      report_.surplus.push_back(name);
      if (!selection_.selects_all() || rules_.allow_surplus.match(name)) continue;
      if (is_hook_state(name)) {
        log_warning(fmt::format("checkpoint {}: no hook of this run uses the state \"{}\"",
                                reader_.prefix(), name));
      } else {
        mismatch_.surplus.push_back({name, {entry.dtype, entry.shape}});
      }
    }
  }

  // A rule for values that are not selected is another restore's.
  void find_idle_renames() {
    if (rules_.rename.empty()) return;
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

  void note_missing(RestoreMismatch::Missing missing, bool is_problem) {
    staying_.insert(missing.name);
    const auto& unreadable = stored_.opened().unreadable;
    const auto why = unreadable.find(entries_.stored_name(missing.key));
    if (is_problem && why != unreadable.end())
      mismatch_.others.push_back(
          fmt::format("\"{}\" cannot be read: it {}", why->first, why->second.why));
    else if (is_problem)
      mismatch_.missing.push_back(std::move(missing));
    else
      report_.missing.push_back(std::move(missing.name));
  }

  // The outermost value with this part that options keep as a whole.
  static std::optional<WholeValue> whole_of(const std::string& object, const StatePart& part) {
    for (const WholeValue& each : part.wholes)
      if (each.kind != WholeValue::Kind::kAlternatives)
        return WholeValue{full_name(object, each.name), each.kind};
    return std::nullopt;
  }

  // Of a value whose size may change. One that was empty waits for the checkpoint's elements.
  void note_size(const std::string& name, const Shape& now, const Shape& before,
                 const std::optional<WholeValue>& whole = {}) {
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

  // The state to give to an object, by the program's names, with the entries that stay, and without
  // those that are left out.
  TensorMap fitted(const std::string& name, const Saveable& object, TensorMap state) {
    const auto* const naming = internal::dynamic_as<const NamingState>(&object);
    if (naming != nullptr && !is_by_own_names())
      state = naming->by_own_names(std::move(state),
                                   [this](const std::string& each) -> std::optional<std::string> {
                                     if (stays_own(each)) return std::nullopt;
                                     return entries_.stored_name(view_name(each));
                                   });
    const std::optional<Saveable::Rows> rows = object.rows();
    if (!rows) return state;
    if (!rows->key_column) {
      for (const auto& [key, value] : state)
        if (const auto own = rows->present.find(key); own != rows->present.end())
          note_size(key.empty() ? name : join_path(name, key), value.shape(), own->second.shape());
      return state;
    }
    const auto entry_name = [&](const std::string& key) { return join_path(name, key); };
    KeyedRows fit(
        rows->present, std::move(state), *rows->key_column,
        [&](const std::string& key) { return stays(entry_name(key)); },
        [&](const std::string& key) { return leaves_out_entry(entry_name(key)); });
    const std::string pattern = internal::pattern_for(name) + "/*";
    for (const std::string& key : fit.dropped) note_dropped(entry_name(key), pattern);
    const bool is_awaited = rows->present.at(*rows->key_column).num_elements() == 0;
    for (const std::string& key : fit.made) note_made(entry_name(key), pattern, is_awaited);
    for (const std::string& key : fit.staying)
      (keeps(entry_name(key)) ? report_.kept : report_.missing).push_back(entry_name(key));
    for (const std::string& key : fit.left_out) report_.surplus.push_back(entry_name(key));
    return std::move(fit.wanted);
  }

  // True if each value has the checkpoint's value, of the same name.
  bool is_by_own_names() const {
    return rules_.rename.empty() && rules_.keep.empty() && staying_.empty();
  }

  // `item` is null if the checkpoint lacks it.
  void note_kept(const std::string& name, const std::string& key, const Item* item) {
    if (item != nullptr) note_used(key, *item);
    report_.kept.push_back(name);
  }

  void note_restored(const std::string& name, const std::string& key) {
    report_.restored.push_back(name);
    if (key != name) report_.renamed.emplace(name, key);
  }

  // The states of objects without parts.
  std::vector<TensorMap> read_objects() const {
    std::vector<TensorRequest> requests;
    std::vector<std::pair<size_t, const Entry*>> places;  // Object and entry, by request.
    for (size_t i = 0; i < objects_.size(); ++i) {
      if (objects_[i].parted != nullptr) continue;
      for (const Entry& entry : objects_[i].entries) {
        requests.push_back({entry.name});
        places.emplace_back(i, &entry);
      }
    }
    CheckpointPass pass(reader_, requests);
    std::vector<TensorMap> states(objects_.size());
    for (const size_t number : pass.order()) {
      const auto& [object, entry] = places[number];
      states[object].emplace(entry->key, pass.read(number));
    }
    for (size_t i = 0; i < objects_.size(); ++i) add_kept(objects_[i], states[i]);
    return states;
  }

  static void add_kept(const ObjectPart& part, TensorMap& state) {
    if (part.kept.empty()) return;
    const TensorMap own = part.object->object->save();
    for (const std::string& key : part.kept)
      if (const auto found = own.find(key); found != own.end()) state.insert(*found);
  }

  void restore(const RegisteredSaveable& object, const TensorMap& state) {
    try {
      object.object->restore(state);
    } catch (const InvalidArgumentError& error) {
      const std::string message =
          internal::cannot_be_restored(reader_.prefix(), object.name, error);
      if (!object.optional) throw InvalidArgumentError(message);
      log_warning(fmt::format("{}; it starts afresh", message));
      std::erase(report_.restored, object.name);
      report_.renamed.erase(object.name);
      report_.missing.push_back(object.name);
    }
  }

  // The checkpoint is known to have all keys, so anything not found is a file.
  void run(StateOperations& operations, Session& session) const {
    try {
      operations.restore(session, reader_.prefix());
    } catch (const NotFoundError& error) {
      throw DataLossError(
          fmt::format("checkpoint {}: the graph's own operations cannot find all of it: {}",
                      reader_.prefix(), error.what()));
    }
  }

  const Graph& graph_;
  const CheckpointReader& reader_;
  const internal::CheckpointContents& stored_;  // Of the reader.
  const VariableSelection& selection_;
  const RestoreRules rules_;
  internal::RenamedEntries entries_;
  const std::shared_ptr<const internal::RankState> ranks_;  // Null if the run has no such state.
  std::map<std::string, std::set<int64_t>> stored_ranks_;   // By the name of the value.
  std::set<std::string> fresh_;                             // Names of values.
  internal::VariableReads variables_;
  std::vector<ObjectPart> objects_;
  RestoreReport report_;
  std::vector<bool> used_;  // Whether the program uses an item, by its number.
  RestoreMismatch mismatch_;
  // Values that keep the program's values as the checkpoint's do not fit, or are missing.
  std::set<std::string> staying_;
  internal::RestoreChanges changes_;
  // Within the entries of containers whose keys have not been read, by the names of these.
  struct Within {
    EntryChanges changes = {};
    std::vector<ResizedValue> resized = {};
  };
  std::map<std::string, Within> within_;
};

}  // namespace

RestoreReport restore_state(Session& session, const CheckpointReader& reader,
                            const internal::VariableSelection& selection, const RestoreRules& rules,
                            StateOperations* operations, const std::function<void()>& initialize) {
  return RestorePlan(session.graph(), reader, selection, rules)
      .execute(session, operations, initialize);
}

}  // namespace crochet::inline v0
