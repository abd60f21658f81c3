// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/session/graph.h"
#include "crochet/session/saveable.h"

namespace crochet::inline v0::internal {

// The state of a random generator, or of several.
class CROCHET_EXPORT HoldableState {
 public:
  virtual ~HoldableState() = default;
  // Keeps the state; the destruction of the result puts it back.
  virtual std::shared_ptr<void> hold() = 0;
  // False for a container that has no generators now.
  virtual bool has_generators() const { return true; }
};

// Keeps what the random generators of a graph draw for its steps: whatever is drawn while this
// lives is put back. Only a step changes what is tracked, so evaluations and values for hooks,
// which are computed when it is time for them, must leave no trace in the run.
class CROCHET_EXPORT HeldGenerators {
 public:
  explicit HeldGenerators(const Graph& graph);
  explicit HeldGenerators(std::span<const std::shared_ptr<HoldableState>> generators);

  // Those among the graph's objects.
  static std::vector<std::shared_ptr<HoldableState>> find(const Graph& graph);

 private:
  std::vector<std::shared_ptr<void>> held_;
};

// As make_saveable(), for a generator.
CROCHET_EXPORT std::shared_ptr<Saveable> make_generator_saveable(
    std::function<TensorMap()> save, std::function<void(const TensorMap& state)> restore,
    std::function<std::shared_ptr<void>()> hold);

// Keeps a copy of `value`, which replaces it when the result is destroyed. Requires: the value
// outlives the result.
template <typename T>
std::shared_ptr<void> hold_copy(T& value) {
  return std::shared_ptr<T>(new T(value), [&value](T* copy) {
    value = *copy;
    delete copy;
  });
}

}  // namespace crochet::inline v0::internal
