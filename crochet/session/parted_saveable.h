// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/session/part_values.h"
#include "crochet/session/saveable.h"
#include "crochet/session/stored_parts.h"

namespace crochet::inline v0 {

// A value that options keep, or have restored, as a whole where its structure differs from the
// checkpoint's.
struct WholeValue {
  enum class Kind {
    kKeyed,    // A map or set whose keys are values with parts: its structure always may differ.
    kColumns,  // A sequence that is stored as columns.
    kAlternatives,  // A variant: the part beneath its name is the number of the alternative.
    kObject,        // An object that is saved with its class, and replaced by one of another class.
  };
  std::string name;  // Within the object.
  Kind kind = Kind::kKeyed;
};

// A part of a PartedSaveable: an array, stored under `key`, or an object that has all entries at
// and beneath `key`.
struct StatePart {
  std::string key;
  bool is_object = false;
  DType dtype = DType::kInvalid;  // Of an array.
  Shape shape = {};               // May have unknown sizes.
  // As it is now; unset if it is not known, or always as `shape`.
  std::optional<Shape> present_shape = {};
  // A column, whose first size is that of its neighbours: of an element that stays in the program,
  // it is not known.
  bool is_column = false;
  bool is_key = false;  // Of the keys of a map or set.
  // Those that it is a part of, the outermost first.
  std::vector<WholeValue> wholes = {};
  // In a container whose structure a restore must not change.
  bool is_structure_fixed = false;
  // The name of the part of the object that plans its own parts, of which this is one.
  std::optional<std::string> planned_by = {};
  // The object can be without it: a checkpoint that lacks it is complete.
  bool is_optional = false;
  // The object always has it: where a checkpoint has nothing of the object, it is missed by its own
  // name.
  bool is_fixed = false;
  // The full name of another value to which the part belongs, and whose name it has in its own, as
  // "adam/exp_avg/net/weight" and "net/gradients/weight" have that of "net/weight": where that one
  // is renamed, this part is; where that one stays as the program has it, or may be reshaped or
  // converted, this part does. Empty if there is none.
  std::string named_after = {};
};

// A Saveable whose keys are names of parts, which may change between saves. Options of a restore
// apply to each part by its name, "<object>/<key>".
class CROCHET_EXPORT PartedSaveable : public Saveable {
 public:
  // The parts that it has once it is restored from a checkpoint that has `stored`. Changes nothing.
  // Throws: InvalidArgumentError if it cannot have the parts that are stored.
  virtual std::vector<StatePart> parts_for(const StoredParts& stored) const = 0;
  // The parts that it has now, by the names that they would have in a checkpoint like the one that
  // has `stored`.
  virtual std::vector<StatePart> present_parts(const StoredParts& stored) const {
    static_cast<void>(stored);
    return parts_for(StoredParts());
  }
  // Takes the structure that `stored` describes, and has the values read into its parts: large ones
  // are never in memory twice. Parts without a value keep theirs.
  // Throws, here or when a value is read: InvalidArgumentError for a value that does not fit; then
  // some parts may be changed.
  virtual void restore_parts(const StoredParts& stored, PartValues& values) = 0;

  void restore(const TensorMap& state) final;
};

}  // namespace crochet::inline v0
