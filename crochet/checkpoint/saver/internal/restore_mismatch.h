// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/tensor/dtype.h"
#include "crochet/tensor/shape.h"

namespace crochet::inline v0::internal {

// What keeps a checkpoint from being restored by a program.
struct RestoreMismatch {
  struct Value {
    DType dtype;
    Shape shape;
  };
  // A variable of the program that the checkpoint lacks, or an object: then `value` is unset.
  struct Missing {
    std::string name;
    std::string key;  // Another name than the program's if it is renamed.
    std::optional<Value> value;
  };
  // An entry that only the checkpoint has.
  struct Surplus {
    std::string key;
    Value value;
  };
  // A variable that has another type or shape in the checkpoint.
  struct Changed {
    std::string name;
    Value stored;
    Value expected;
  };

  std::string prefix = {};
  std::vector<Missing> missing = {};
  std::vector<Changed> changed = {};
  std::vector<Surplus> surplus = {};
  // Rules of `rename` that match nothing: either the program or the checkpoint lacks the name.
  std::vector<StoredName> idle_renames = {};
  // Descriptions of anything else.
  std::vector<std::string> others = {};

  bool empty() const {
    return missing.empty() && changed.empty() && surplus.empty() && idle_renames.empty() &&
           others.empty();
  }
};

// "rename {"model/w", "old/w"} matches nothing: ...".
std::string described(const StoredName& idle_rename);

// The shape that the elements of a value of the shape `from` get to be one of `to`, which may have
// one unknown size; unset if their number does not fit.
std::optional<Shape> reshaped(const Shape& from, const Shape& to);

// In the words of a Saver, which TensorFlow's users know.
std::string to_string(const RestoreMismatch& mismatch);

// Throws an error with this message from which mismatch_of() returns the mismatch: NotFoundError if
// names are missing and all else fits, otherwise InvalidArgumentError.
[[noreturn]] void throw_mismatch(const RestoreMismatch& mismatch, const std::string& message);

// Null for any other error.
const RestoreMismatch* mismatch_of(const Error& error);

}  // namespace crochet::inline v0::internal
