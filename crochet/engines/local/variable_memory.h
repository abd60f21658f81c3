// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "crochet/tensor/tensor.h"

namespace crochet::local {

// The value of one owned variable and the memory for its next ones.
//
// A snapshot shares the value's memory; so that no value that was handed out
// ever changes, the next one is written to other memory, which is taken back
// once nobody holds it: after the first few saves no fresh memory is touched.
//
// Not thread-safe: sessions use it under their run token.
class VariableMemory {
 public:
  // Copies the value, into memory of its own. Unset for a variable that is not owned.
  explicit VariableMemory(const Tensor& initial);

  // To be written to only after make_unique().
  Tensor& value() { return value_; }
  const Tensor& value() const { return value_; }
  // Makes sure that nobody else holds the value, by a copy if need be.
  void make_unique();
  // The same by somebody else's copy: if true, the value's bytes are to be copied to next(), which
  // is then prepared, and commit_next() called.
  bool needs_copy() const { return value_.dtype() != DType::kString && value_.is_shared(); }

  // Memory for the next value, of undefined content, that nobody else holds.
  // Throws: ResourceExhaustedError.
  void prepare_next();
  Tensor& next() { return next_; }
  // What was written to next() is the value now.
  void commit_next() { std::swap(value_, next_); }

 private:
  Tensor value_;
  Tensor next_;                // Unset, or of the value's type and shape.
  std::vector<Tensor> spare_;  // Former values that others still held when they were replaced.
};

}  // namespace crochet::local
