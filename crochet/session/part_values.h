// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "crochet/base/export.h"
#include "crochet/session/saveable.h"
#include "crochet/session/stored_parts.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0 {

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
  // Reports changes of the container that is the part `key`.
  virtual void note_entries(const std::string& key, const EntryChanges& changes) {
    static_cast<void>(key);
    static_cast<void>(changes);
  }
};

}  // namespace crochet::inline v0
