// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "crochet/session/saveable.h"

namespace crochet::inline v0::internal {

// An object, but one that refuses a state with another number of entries, or other keys.
class FixedState final : public Saveable {
 public:
  explicit FixedState(std::shared_ptr<Saveable> object) : object_(std::move(object)) {}

  TensorMap save() const override { return object_->save(); }
  CapturedState capture() const override { return object_->capture(); }
  std::optional<Rows> rows() const override { return object_->rows(); }
  void restore(const TensorMap& state) override;

 private:
  const std::shared_ptr<Saveable> object_;
};

}  // namespace crochet::inline v0::internal
