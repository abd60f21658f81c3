// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/engines/local/spare_memory.h"
#include "crochet/tensor/tensor.h"

namespace crochet::local {

// The value of one owned variable and the memory for its next ones.
//
// A snapshot shares the value's memory; so that no value that was handed out
// ever changes, the next one is written to other memory. What somebody still holds becomes spare
// memory of all variables: after the first few saves no fresh memory is touched.
//
// Not thread-safe: sessions use it under their run token.
class VariableMemory {
 public:
  // Copies the value, into memory of its own. Unset for a variable that is not owned.
  // `spare` is not owned, and outlives this.
  VariableMemory(const Tensor& initial, SpareMemory& spare);

  // To be written to only after make_unique().
  Tensor& value() { return value_; }
  const Tensor& value() const { return value_; }
  // Makes sure that nobody else holds the value, by a copy if need be.
  void make_unique();
  // The same by the caller's copy. True if somebody else holds the value, which is asked once, as
  // they may let go at any moment: then the value's bytes are to be copied to next(), and
  // commit_copy() is to be called.
  // Requires: the value is not one of strings.
  bool prepare_copy();
  void commit_copy();

  // Memory for the next value, of undefined content, that nobody else holds.
  // Throws: ResourceExhaustedError.
  void prepare_next();
  Tensor& next() { return next_; }
  // What was written to next() is the value now.
  void commit_next() { std::swap(value_, next_); }

 private:
  bool can_use_next() const { return next_.is_set() && !next_.is_shared(); }
  void take_next();

  SpareMemory& spare_;
  Tensor value_;
  Tensor next_;  // Unset, or of the value's type and shape.
};

}  // namespace crochet::local
