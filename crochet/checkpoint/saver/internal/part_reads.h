// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/session/parted_saveable.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0::internal {

// An entry of an object.
struct PartEntry {
  std::string key;                           // Within the object.
  std::string name;                          // In the file.
  std::optional<StoredParts::Part> as = {};  // To be reshaped or converted to this.
  std::optional<TensorSlice> slice = {};     // Only this part of it, which may be empty.
};

// Gives objects with parts the values that a checkpoint has: first each its structure, then all of
// them their values, which are read from the start of each data file to its end, into the memory of
// arrays. Not thread-safe.
class PartReads {
 public:
  // The state to give to an object that is a part, by its name: see PartValue::fitted().
  using Fit = std::function<TensorMap(const std::string& name, const Saveable&, TensorMap state)>;

  // Receives what a restore does to the entries of a container, by its name: see
  // PartValues::record_entries().
  using RecordEntries = std::function<void(const std::string& name, const EntryChanges& changes)>;

  // Requires: `reader` outlives this.
  PartReads(const CheckpointReader& reader, Fit fit, RecordEntries record_entries)
      : reader_(reader), fit_(std::move(fit)), record_entries_(std::move(record_entries)) {}

  // Gives the object its structure. Requires: it and the entries stay as they are until finish().
  // Throws, as finish(): InvalidArgumentError for a value that does not fit; DataLossError.
  void begin(const std::string& name, PartedSaveable& object, const StoredParts& stored,
             const std::vector<PartEntry>& entries);
  // Gives the objects since the last call their values.
  void finish();

 private:
  class Values;
  struct Part {
    const std::string* object;
    const PartEntry* entry;
    PartValues::Take take;
  };

  // Calls `take`, whose errors name the object.
  template <typename Take>
  void take(const Part& part, const Take& take) const;

  const CheckpointReader& reader_;
  const Fit fit_;
  const RecordEntries record_entries_;
  std::vector<Part> parts_;  // To be read.
};

// "checkpoint runs/model-7: "adam" cannot be restored: ...".
std::string cannot_be_restored(const std::string& prefix, const std::string& object,
                               const InvalidArgumentError& error);

}  // namespace crochet::inline v0::internal
