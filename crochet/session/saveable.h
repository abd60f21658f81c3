// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0 {

class PendingCopies;

// The state of an object between two steps.
struct CapturedState {
  TensorMap tensors;
  // Copies that are still being made, which fill some of the tensors.
  std::vector<std::shared_ptr<PendingCopies>> copies = {};
};

// An object whose state belongs in checkpoints. Stored under "<object>/<key>",
// or "<object>" for the key "".
//
// Called on the training thread between two steps.
class CROCHET_EXPORT Saveable {
 public:
  virtual ~Saveable() = default;

  // The state now. The tensors may share memory with the object: if a span of it was taken for
  // writing (Tensor::mutable_bytes), the saver copies it. Memory that another library owns
  // (Buffer::borrow) must not change until the save has ended.
  virtual TensorMap save() const = 0;
  // As save(), but may return before the tensors have their values. Savers call this.
  virtual CapturedState capture() const { return {.tensors = save()}; }
  // Restores a state that save() returned, perhaps in another process.
  // Throws: InvalidArgumentError, leaving the object unchanged, if keys, types or shapes
  // do not match its own.
  virtual void restore(const TensorMap& state) = 0;
  // Of a value whose number of entries a restore may change: what it has now, for reports and for
  // options that name entries. Unset for anything else.
  struct Rows {
    TensorMap present;
    // Of a map or set: the key of the column, with one row an entry, that has the keys.
    std::optional<std::string> key_column = {};
  };
  virtual std::optional<Rows> rows() const { return std::nullopt; }
};

// Objects by name, as returned by hooks.
using SaveableMap = std::map<std::string, std::shared_ptr<Saveable>>;

// The only value of `state`, stored under the key "". Throws: InvalidArgumentError if there
// are others, or if it is not a tensor of this type with one element.
CROCHET_EXPORT const Tensor& single_value(const TensorMap& state, DType dtype);

namespace internal {

// A Saveable of two functions.
CROCHET_EXPORT std::shared_ptr<Saveable> make_saveable(
    std::function<TensorMap()> save, std::function<void(const TensorMap& state)> restore,
    std::function<std::optional<Saveable::Rows>()> rows = {});

}  // namespace internal

// Saves and restores the number `value` in place.
//
//   SaveableMap saveables() override { return {{"best", saveable_value(best_)}}; }
//
// Requires: `value` outlives the result.
template <Element T>
std::shared_ptr<Saveable> saveable_value(T& value) {
  return internal::make_saveable(
      [&value] {
        return TensorMap{{"", Tensor::scalar(value)}};
      },
      [&value](const TensorMap& state) {
        value = single_value(state, dtype_of<T>).template scalar<T>();
      });
}

}  // namespace crochet::inline v0
