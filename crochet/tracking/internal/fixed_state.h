// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "crochet/base/internal/dynamic_type.h"
#include "crochet/session/internal/held_generators.h"
#include "crochet/session/internal/naming_state.h"
#include "crochet/session/saveable.h"

namespace crochet::inline v0::internal {

// An object, but one that refuses a state with another number of entries, or other keys.
class FixedState final : public Saveable, public HoldableState, public NamingState {
 public:
  explicit FixedState(std::shared_ptr<Saveable> object) : object_(std::move(object)) {}

  TensorMap save() const override { return object_->save(); }
  CapturedState capture() const override { return object_->capture(); }
  std::optional<Rows> rows() const override { return object_->rows(); }
  void restore(const TensorMap& state) override;
  TensorMap by_own_names(TensorMap state, const StoredNameOf& stored_name_of) const override {
    const auto* const naming = dynamic_as<const NamingState>(object_.get());
    return naming == nullptr ? state : naming->by_own_names(std::move(state), stored_name_of);
  }
  bool has_generators() const override { return held() != nullptr && held()->has_generators(); }
  std::shared_ptr<void> hold() override { return held()->hold(); }

 private:
  // Null unless the object is a random generator, or may have some.
  HoldableState* held() const { return dynamic_as<HoldableState>(object_.get()); }

  const std::shared_ptr<Saveable> object_;
};

}  // namespace crochet::inline v0::internal
