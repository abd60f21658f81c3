// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "crochet/session/parted_saveable.h"
#include "crochet/tracking/internal/provided_state.h"
#include "python/src/bindings.h"

namespace crochet::python {

// A value of a Python program in checkpoints. What it consists of, an object of crochet/_state.py
// says, each time again:
//
//   list()          -> (arrays, texts, keep): the parts to save. Arrays are (name, address, type,
//                   shape), and texts (name, [bytes], shape). `keep` is what keeps the memory.
//   plan(stored)    -> [(name, type, shape)]: the parts that it will have once it is restored.
//   begin(stored)   -> {name: address}: where the arrays that are stored go.
//   finish(texts)   has all of them, and takes them over.
//
// `stored` is {name: (type, shape)}.
class PythonState final : public PartedSaveable {
 public:
  PythonState(local::Graph& graph, std::string name, nb::object value);

  // What is saved from now on.
  void set_value(nb::object value) { *value_ = std::move(value); }

  TensorMap save() const override { return parts_.save(); }
  CapturedState capture() const override { return parts_.capture(); }
  std::vector<StatePart> parts_for(const StoredParts& stored) const override;
  std::vector<StatePart> present_parts(const StoredParts& stored) const override;
  void restore_parts(const StoredParts& stored, PartValues& values) override;

 private:
  void list(Tracker& here) const;

  const std::shared_ptr<nb::object> value_;
  mutable std::shared_ptr<nb::object> keep_;  // Of the latest list().
  internal::ProvidedState parts_;
};

// For Tracker.
struct TrackedObject {
  nb::object value;
  void track(Tracker& here);
};

}  // namespace crochet::python
