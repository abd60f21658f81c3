// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/restore_plan.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/dynamic_type.h"
#include "crochet/base/internal/prefetch.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/any_format/internal/checkpoint_pass.h"
#include "crochet/checkpoint/saver/internal/entry_owners.h"
#include "crochet/checkpoint/saver/internal/keyed_rows.h"
#include "crochet/checkpoint/saver/internal/part_reads.h"
#include "crochet/checkpoint/saver/internal/parts_planner.h"
#include "crochet/checkpoint/saver/internal/restore_record.h"
#include "crochet/checkpoint/saver/internal/stored_names.h"
#include "crochet/checkpoint/saver/internal/variable_reads.h"
#include "crochet/session/internal/naming_state.h"
#include "crochet/session/internal/nested_names.h"
#include "crochet/session/internal/rank_layout.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {
namespace {

// How to restore the tensors of one checkpoint to one graph.
class RestorePlan {
 public:
  // Checks all names, types and shapes. Throws: an error that lists all mismatches.
  RestorePlan(const Graph& graph, const CheckpointReader& reader,
              const VariableSelection& selection, const RestoreRules& rules)
      : graph_(graph),
        reader_(reader),
        selection_(selection),
        record_(graph, reader, selection, rules),
        ranks_(RankLayout::find(graph)),
        variables_(reader) {
    count_ranks();
    const VariableSelection::Selected selected = selection.select(graph);
    variables_.reserve(selected.variables.size());
    record_.reserve(selected.variables.size());
    for_each_prefetched(
        std::span<const Variable>(selected.variables),
        [](const Variable& variable) { prefetch(variable.info()); },
        [this](const Variable& variable) { plan_variable(variable); });
    plan_objects(selected.objects);
    record_.check_all();
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
    PartReads reads(
        reader_,
        [this](const std::string& name, const Saveable& object, TensorMap state) {
          return fitted(name, object, std::move(state));
        },
        [this](const std::string& name, const EntryChanges& changes) {
          record_.add_keys(name, changes);
        });
    for (size_t i = 0; i < objects_.size(); ++i) {
      const PlannedObject& part = objects_[i];
      const RegisteredSaveable& object = *part.object;
      if (part.parted != nullptr) {
        reads.begin(object.name, *part.parted, part.stored, part.entries);
      } else {
        reads.finish();  // An object may need what was tracked before it.
        restore(object, fitted(object.name, *object.object, std::move(states[i])));
      }
    }
    reads.finish();
    if (const std::string changes = record_.changes();
        !changes.empty() && !record_.rules().is_recovery)
      log_info(fmt::format("{}: {}", reader_.prefix(), changes));
    return record_.take_report();
  }

 private:
  using Item = RestoreRecord::Item;

  // The number of ranks of which the checkpoint has a value, for each value that ranks have for
  // themselves.
  void count_ranks() {
    if (!ranks_ || ranks_->per_rank().empty()) return;
    record_.entries().for_each([&](const std::string& name, const Item&) {
      if (const auto found = ranks_->rank_name(name))
        stored_ranks_[std::string(found->name)].insert(found->rank);
    });
    for (const auto& [name, stored] : stored_ranks_) {
      const int size = ranks_->size();
      if (std::cmp_equal(stored.size(), size) && *stored.rbegin() == size - 1) continue;
      fresh_.insert(name);
      if (ranks_->per_rank().at(name) == Regroup::kRefuse)
        record_.mismatch().others.push_back(
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
    record_.add_unchanged(name);
    return true;
  }

  void plan_variable(const Variable& variable) {
    const std::string& name = variable.name();
    if (stays_fresh(name)) return;
    if (const auto* const part = ranks_ ? ranks_->slice_of(name) : nullptr;
        part && part->is_empty) {
      // Nothing is read; the others' parts are there.
      if (const Item* const found = record_.entries().find(name)) record_.add_used(name, *found);
      return record_.add_restored(name, name);
    }
    const VariableSelection::Place place = selection_.place_of(name, ranks_.get());
    const Item* const found = record_.entries().find(place.key);
    if (record_.keeps(name)) return record_.add_kept(name, found);
    if (found == nullptr)
      return record_.add_missing(name, RestoreMismatch::Value{variable.dtype(), variable.shape()});
    record_.add_used(place.key, *found);
    const StoredTensor& entry = found->second;
    if (place.slice != nullptr && place.slice->full_shape != entry.shape) {
      record_.mismatch().others.push_back(
          fmt::format("\"{}\" is a slice of {}, but \"{}\" is {} in the checkpoint", name,
                      place.slice->full_shape, found->first, entry.shape));
      return;
    }
    const TensorSlice* const slice = place.slice ? &place.slice->slice : nullptr;
    const auto fit = record_.fit_of(name, {entry.dtype, stored_shape(entry, slice)},
                                    {variable.dtype(), variable.shape()});
    if (!fit) return;
    record_.add_restored(name, found->first);
    if (!variable.shape().is_fully_known())
      record_.add_size(name, stored_shape(entry, slice), graph_.present_shape(variable));
    variables_.add({variable, fit->reshaped, fit->is_converted, found, slice});
  }

  void plan_objects(const std::vector<const RegisteredSaveable*>& objects) {
    EntryOwners owners(graph_, selection_);
    std::map<const RegisteredSaveable*, std::vector<PartEntry>> entries;
    std::map<const RegisteredSaveable*, std::string> row_counts;  // Names of entries.
    record_.entries().for_each([&](const std::string& name, const Item& item) {
      std::string key;
      const auto* const owner = owners.owner_of(name, key);
      if (has_row_counts(name)) {  // Not a value of the program's.
        record_.add_used(name, item);
        if (key == kRowsName) row_counts.emplace(owner, item.first);
      } else if (owner != nullptr) {
        entries[owner].push_back({std::move(key), item.first});
      }
    });
    for (const RegisteredSaveable* const object : objects) {
      if (stays_fresh(object->name)) continue;
      PlannedObject planned{object, std::move(entries[object])};
      if (ranks_ && ranks_->has_rows(object->name)) {
        const auto counts = row_counts.find(object);
        planned.rows.emplace(
            counts == row_counts.end() ? std::nullopt : read_row_counts(reader_, counts->second),
            ranks_->rank(), ranks_->size());
      }
      planned.parted = dynamic_as<PartedSaveable>(object->object.get());
      if (planned.parted != nullptr ? PartsPlanner(record_, selection_, planned).plan()
                                    : plan_object(planned))
        objects_.push_back(std::move(planned));
    }
  }

  // Of an object without named parts. False if there is nothing to restore.
  bool plan_object(PlannedObject& planned) {
    const RegisteredSaveable& object = *planned.object;
    take_kept(planned);
    if (planned.entries.empty() && (!planned.kept.empty() || record_.keeps(object.name)))
      return false;
    if (planned.entries.empty()) {
      if (object.optional)
        log_warning(fmt::format("checkpoint {} has no state of \"{}\"; it starts afresh",
                                reader_.prefix(), object.name));
      record_.add_missing(object.name, std::nullopt, object.optional);
      return false;
    }
    for (const PartEntry& entry : planned.entries)
      record_.add_used(full_name(record_.view_name(object.name), entry.key), entry.name);
    record_.add_restored(object.name, name_without_key(planned.entries.front(), ""));
    return true;
  }

  // Removes the entries that keep the program's values.
  void take_kept(PlannedObject& planned) {
    const std::string& name = planned.object->name;
    const bool keeps_all = record_.keeps(name);
    std::erase_if(planned.entries, [&](const PartEntry& entry) {
      const std::string full = full_name(name, entry.key);
      if (!keeps_all && !record_.keeps(full)) return false;
      record_.add_kept(full, &record_.stored().item(entry.name));
      planned.kept.push_back(entry.key);
      return true;
    });
  }

  // The state to give to an object, by the program's names, with the entries that stay, and without
  // those that are left out.
  TensorMap fitted(const std::string& name, const Saveable& object, TensorMap state) {
    const auto* const naming = dynamic_as<const NamingState>(&object);
    if (naming != nullptr && !record_.is_by_own_names())
      state = naming->by_own_names(std::move(state),
                                   [this](const std::string& each) -> std::optional<std::string> {
                                     if (record_.stays_own(each)) return std::nullopt;
                                     return record_.stored_name(each);
                                   });
    const std::optional<Saveable::Rows> rows = object.rows();
    if (!rows) return state;
    if (!rows->key_column) {
      for (const auto& [key, value] : state)
        if (const auto own = rows->present.find(key); own != rows->present.end())
          record_.add_size(full_name(name, key), value.shape(), own->second.shape());
      return state;
    }
    const auto entry_name = [&](const std::string& key) { return full_name(name, key); };
    KeyedRows fit(
        rows->present, std::move(state), *rows->key_column,
        [&](const std::string& key) { return record_.stays(entry_name(key)); },
        [&](const std::string& key) { return record_.leaves_out_entry(entry_name(key)); });
    const std::string pattern = pattern_for(name) + "/*";
    for (const std::string& key : fit.dropped) record_.add_dropped(entry_name(key), pattern);
    const bool is_awaited = rows->present.at(*rows->key_column).num_elements() == 0;
    for (const std::string& key : fit.made) record_.add_made(entry_name(key), pattern, is_awaited);
    for (const std::string& key : fit.staying)
      if (record_.keeps(entry_name(key)))
        record_.add_kept(entry_name(key));
      else
        record_.add_unchanged(entry_name(key));
    for (const std::string& key : fit.left_out) record_.add_left_out(entry_name(key));
    return std::move(fit.wanted);
  }

  // The states of objects without parts.
  std::vector<TensorMap> read_objects() const {
    std::vector<TensorRequest> requests;
    std::vector<std::pair<size_t, const PartEntry*>> places;  // Object and entry, by request.
    for (size_t i = 0; i < objects_.size(); ++i) {
      if (objects_[i].parted != nullptr) continue;
      for (const PartEntry& entry : objects_[i].entries) {
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

  static void add_kept(const PlannedObject& part, TensorMap& state) {
    if (part.kept.empty()) return;
    const TensorMap own = part.object->object->save();
    for (const std::string& key : part.kept)
      if (const auto found = own.find(key); found != own.end()) state.insert(*found);
  }

  void restore(const RegisteredSaveable& object, const TensorMap& state) {
    try {
      object.object->restore(state);
    } catch (const InvalidArgumentError& error) {
      const std::string message = cannot_be_restored(reader_.prefix(), object.name, error);
      if (!object.optional) throw InvalidArgumentError(message);
      log_warning(fmt::format("{}; it starts afresh", message));
      record_.take_back(object.name);
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
  const VariableSelection& selection_;
  RestoreRecord record_;
  const std::shared_ptr<const RankLayout> ranks_;          // Null if the run has no such state.
  std::map<std::string, std::set<int64_t>> stored_ranks_;  // By the name of the value.
  std::set<std::string> fresh_;                            // Names of values.
  VariableReads variables_;
  std::vector<PlannedObject> objects_;
};

}  // namespace

RestoreReport restore_state(Session& session, const CheckpointReader& reader,
                            const VariableSelection& selection, const RestoreRules& rules,
                            StateOperations* operations, const std::function<void()>& initialize) {
  return RestorePlan(session.graph(), reader, selection, rules)
      .execute(session, operations, initialize);
}

}  // namespace crochet::inline v0::internal
