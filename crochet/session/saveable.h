// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "crochet/base/export.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0 {

// An object whose state belongs in checkpoints. Stored under "<object>/<key>",
// or "<object>" for the key "".
//
// Called on the training thread between two steps.
class CROCHET_EXPORT Saveable {
 public:
  virtual ~Saveable() = default;

  // The state now. The tensors may share memory with the object only if later
  // changes go through Tensor::mutable_bytes.
  virtual TensorMap save() const = 0;
  // Restores a state that save() returned, perhaps in another process.
  // Throws: InvalidArgumentError, leaving the object unchanged, if keys, types or shapes
  // do not match its own.
  virtual void restore(const TensorMap& state) = 0;
};

// Objects by name, as returned by hooks.
using SaveableMap = std::map<std::string, std::shared_ptr<Saveable>>;

// The only value of `state`, stored under the key "". Throws: InvalidArgumentError if there
// are others, or if it is not a tensor of this type with one element.
CROCHET_EXPORT const Tensor& single_value(const TensorMap& state, DType dtype);

// Saves and restores the number `value` in place.
//
//   SaveableMap saveables() override { return {{"best", saveable_value(best_)}}; }
//
// Requires: `value` outlives the result.
template <Element T>
std::shared_ptr<Saveable> saveable_value(T& value) {
  class SaveableValue final : public Saveable {
   public:
    explicit SaveableValue(T& value) : value_(value) {}
    TensorMap save() const override { return {{"", Tensor::scalar(value_)}}; }
    void restore(const TensorMap& state) override {
      value_ = single_value(state, dtype_of<T>).template scalar<T>();
    }

   private:
    T& value_;
  };
  return std::make_shared<SaveableValue>(value);
}

}  // namespace crochet::inline v0
