// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/base/internal/export.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::local::internal {

class SpareMemory;

// The value of one owned variable and the memory for its next ones.
//
// A snapshot shares the value's memory; so that a shared value never
// changes, the next one is written to other memory. Memory that somebody still holds becomes spare
// memory of all variables: after the first few saves no fresh memory is touched.
//
// Not thread-safe: sessions use it under their run token.
class CROCHET_EXPORT VariableMemory {
 public:
  // Copies the initial value, which is unset for a variable that is not owned.
  // `spare` is not owned, and outlives this.
  VariableMemory(const Tensor& initial, SpareMemory& spare);

  // Requires: make_unique() before it is written.
  Tensor& value() { return value_; }
  const Tensor& value() const { return value_; }
  // Makes sure that nobody else holds the value, by a copy if necessary.
  void make_unique();
  // The same, but the caller makes the copy. True if somebody else holds the value (tested once, as
  // it may be released at any moment): then the caller copies the value's bytes to next(), and
  // calls commit_copy().
  // Requires: the value is not a tensor of strings.
  bool prepare_copy();
  void commit_copy();

  // Provides memory for the next value, with undefined contents, that nobody else holds.
  // Throws: ResourceExhaustedError.
  void prepare_next();
  Tensor& next() { return next_; }
  // Makes next() the value.
  void commit_next() { std::swap(value_, next_); }

 private:
  bool can_use_next() const { return next_.is_set() && !next_.is_shared(); }
  void take_next();

  SpareMemory& spare_;
  Tensor value_;
  Tensor next_;  // Unset, or of the value's type and shape.
};

}  // namespace crochet::inline v0::local::internal
