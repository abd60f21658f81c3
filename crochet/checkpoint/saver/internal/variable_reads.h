// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/format/internal/stored_tensors.h"
#include "crochet/session/session.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0::internal {

// The shape that the checkpoint has for a variable, which may be a slice of the entry.
Shape stored_shape(const StoredTensor& entry, const TensorSlice* slice);

// The value of a variable.
struct VariableRead {
  Variable variable;
  std::optional<Shape> reshaped;  // To this.
  bool is_converted;
  const StoredTensors::Item* item;  // Of the checkpoint. It, or this part of it, is the value.
  const TensorSlice* slice;         // Null for all of it; not owned.

  // Of the value assigned to it.
  Shape shape() const { return reshaped.value_or(stored_shape(item->second, slice)); }
};

// Gives variables the values that a checkpoint has, which are read from the start of each data file
// to its end, into the memory of the variables. As PartReads does for objects.
class VariableReads {
 public:
  // Requires: `reader` outlives this.
  explicit VariableReads(const CheckpointReader& reader) : reader_(reader) {}

  void reserve(size_t number) { reads_.reserve(number); }
  void add(VariableRead read) { reads_.push_back(std::move(read)); }
  // Locates all values before the first is read. Throws: DataLossError; InvalidArgumentError for a
  // number that the variable's type cannot hold; what Session::assign() throws.
  void assign(Session& session) const;

 private:
  class Pass;

  const CheckpointReader& reader_;
  std::vector<VariableRead> reads_;
};

}  // namespace crochet::inline v0::internal
