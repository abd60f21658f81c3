// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/session/saveable.h"
#include "crochet/tensor/dtype.h"
#include "crochet/tensor/shape.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0 {

namespace internal {

// Names of parts that stand for what has no parts: an empty container, and a value that is absent.
// No key of a map has such a name.
inline constexpr std::string_view kEmptyName = "%empty";
inline constexpr std::string_view kNullName = "%null";
// The class of an object: the part beneath it has the name of the class.
inline constexpr std::string_view kClassName = "%class";
// Beneath it, the version of the class that wrote the parts.
inline constexpr std::string_view kVersionName = "%version";
// How many rows each rank has of arrays that the ranks have together.
inline constexpr std::string_view kRowsName = "%rows";

}  // namespace internal

// What a checkpoint has at and beneath the name of a value, by the names relative to it.
//
//   void make(const StoredParts& stored) {
//     for (const std::string& name : stored.names())
//       moments.try_emplace(name, stored.find(name)->shape);
//   }
//
// A value; copies share the names.
class CROCHET_EXPORT StoredParts {
 public:
  struct Part {
    DType dtype = DType::kInvalid;
    Shape shape = {};
    bool is_own = false;  // Not stored: the program's, which stays.
  };
  using Map = std::map<std::string, Part, std::less<>>;

  StoredParts();
  // `parts` by their relative names; "" is the entry of the value itself.
  explicit StoredParts(Map parts, bool is_partial = false);

  // True if the checkpoint has nothing here.
  bool empty() const;
  // True if what is here is the program's own, which stays as it is.
  bool is_own() const;
  // The entry with this name; null if there is none. "" is the value's own entry.
  const Part* find(std::string_view name) const;
  // The names up to the first "/", each once, sorted as texts.
  std::vector<std::string> names() const;
  // What the checkpoint has at and beneath `name`.
  StoredParts beneath(std::string_view name) const;
  // All entries, by their relative names.
  Map all() const;

  // True if only some of the entries are restored: then a value keeps the parts that are not here.
  bool is_partial() const { return is_partial_; }

 private:
  const Part* first() const;  // Null if the checkpoint has nothing here.

  std::shared_ptr<const Map> parts_;
  std::string root_;
  bool is_partial_;
};

// A value of a checkpoint. Both functions throw DataLossError if it cannot be read.
class CROCHET_EXPORT PartValue {
 public:
  virtual ~PartValue() = default;

  virtual Tensor read() = 0;
  // Writes the elements, row-major, to memory of just their size. Not for strings.
  virtual void read_into(std::span<std::byte> destination) = 0;
  // The state to give to the object that is the part `name`, of which `state` was read: with the
  // entries that the options of the restore have it keep.
  virtual TensorMap fitted(const std::string& name, const Saveable& object, TensorMap state) {
    static_cast<void>(name);
    static_cast<void>(object);
    return state;
  }
};

// What a restore does to the entries of a map or set whose keys it has just read.
struct EntryChanges {
  bool was_empty = false;
  bool has_dropped = false;  // Entries that only the program had.
  bool has_made = false;     // Those that only the checkpoint has.
};

// The values that a restore has for the parts of an object, by key.
class CROCHET_EXPORT PartValues {
 public:
  using Take = std::function<void(PartValue& value)>;

  virtual ~PartValues() = default;

  // The values that there are: other parts keep theirs.
  virtual const StoredParts& parts() const = 0;
  // Calls `take` with a value once the object has its structure, in the order in which a disk is
  // fastest. Not called if the restore fails before.
  virtual void read_later(const std::string& key, Take take) = 0;
  // Calls `take` now, with a value on which other parts depend. Slower.
  virtual void read_now(const std::string& key, const Take& take) = 0;
  // The prefix of the checkpoint; empty if the values are from elsewhere.
  virtual std::string checkpoint() const { return {}; }
  // Reports changes of the container that is the part `key`.
  virtual void record_entries(const std::string& key, const EntryChanges& changes) {
    static_cast<void>(key);
    static_cast<void>(changes);
  }
};

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
