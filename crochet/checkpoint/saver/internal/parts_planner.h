// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/saver/internal/part_reads.h"
#include "crochet/checkpoint/saver/internal/restore_record.h"
#include "crochet/checkpoint/saver/internal/row_partition.h"
#include "crochet/checkpoint/saver/internal/structure_fit.h"
#include "crochet/checkpoint/saver/internal/variable_selection.h"
#include "crochet/checkpoint/saver/internal/whole_values.h"
#include "crochet/session/graph.h"
#include "crochet/session/internal/nested_names.h"
#include "crochet/session/parted_saveable.h"

namespace crochet::inline v0::internal {

// An object of the graph, and what it gets of a checkpoint.
struct PlannedObject {
  const RegisteredSaveable* object;
  std::vector<PartEntry> entries;
  std::vector<std::string> kept = {};  // Keys of entries that keep the object's values.
  PartedSaveable* parted = nullptr;    // Null for an object without named parts.
  StoredParts stored = {};             // Its parts, all that are to be restored.
  // Of what ranks have together by rows: those of this rank.
  std::optional<RowPartition> rows = {};
};

// The name in the file of the object, or of its part with the key `part`, that has the entry.
std::string name_without_key(const PartEntry& entry, std::string_view part);

// Plans the restore of one object with named parts: first which structure it will have, then each
// of the parts, as variables are planned.
class PartsPlanner {
 public:
  // Requires: all outlive this. `object` has the entries of the checkpoint that are the object's.
  PartsPlanner(RestoreRecord& record, const VariableSelection& selection, PlannedObject& object)
      : record_(record), selection_(selection), object_(object), name_(object.object->name) {}

  // Leaves in the object the entries to be restored. False if there is nothing to restore.
  bool plan();

 private:
  using Item = RestoreRecord::Item;
  using PartsByKey = std::map<std::string, const StatePart*, std::less<>>;
  // The structure that the object is to have, and the parts that it then has.
  struct Structure {
    StructureFit fit;
    std::vector<StatePart> parts = {};
  };

  // The full name of a part.
  std::string full(const std::string& key) const { return full_name(name_, key); }
  // Moves the entries into `names_`; those that are not selected are left out.
  void take_entries();
  // Of an object of which the checkpoint has nothing.
  void plan_missing();
  // The structure with the program's parts in place of those of the values `own`. Unset if the
  // object cannot have the parts.
  std::optional<Structure> find_structure(const WholeValues& wholes, const WholeValues::Names& own);
  StructureFit::Rules rules_of_parts() const;
  // What the rules do to a part of a value that the program has.
  WholeValues::Fate fate_of(const StatePart& part) const;
  void refuse_to_keep(const std::string& value, const std::string& part);
  // Of a fixed value that the checkpoint has with another type.
  void refuse_to_replace(const std::string& value);
  // Of a value that keeps the program's parts, as options ask for, or as it would get some only.
  void record_own(const std::string& value, bool is_kept);

  // Entries of containers that are dropped or made; those of a container that is fixed do not fit.
  // What else differs are parts of structs, which are planned one by one.
  void record_structure(const Structure& structure);
  void record_dropped(const StructureFit::Entry& entry, const PartsByKey& old_parts);
  void record_made(const StructureFit::Entry& entry, const StatePart& made);
  // Of an entry within a value that options keep as a whole. Entries of a keyed container itself
  // are noted when its keys are read.
  void record_within(const StructureFit::Entry& entry, bool is_key, const EntryChanges& changes);
  // For the options that concern this entry and its neighbours.
  std::string pattern_of(const StructureFit::Entry& entry) const;

  void plan_parts(const Structure& structure, const WholeValues& wholes,
                  const WholeValues::Names& own);
  // What belongs to a value that stays would not fit it, or not be of it: a part stays with its
  // owner.
  bool keeps(const StatePart& part) const;
  void plan_array(const StatePart& part, bool is_present);
  void plan_object(const StatePart& part, bool is_present);
  // Null if the checkpoint lacks the part.
  const Item* entry_of(const StatePart& part) const;
  // The part of an entry that this rank takes; unset for all of it.
  std::optional<TensorSlice> slice_of(const Item& item) const;
  StoredParts::Part stored_part(const Item& item) const;
  std::optional<WholeValue> whole_of(const StatePart& part) const;

  RestoreRecord& record_;
  const VariableSelection& selection_;
  PlannedObject& object_;
  const std::string& name_;                                // Of the object.
  std::map<std::string, std::string, std::less<>> names_;  // In the file, by key.
  StoredParts::Map stored_;
  std::vector<StatePart> present_;  // The parts that the program has.
  bool is_partial_ = false;         // Not all that is stored is selected.
};

}  // namespace crochet::inline v0::internal
