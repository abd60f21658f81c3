// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "crochet/copies/borrowed_array.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::internal {

// A checksum of the elements and their row-major positions, independent of the memory order.
uint64_t checksum(const ArrayView& array);

// Checks that the tensors of a snapshot have the values of the boundary between two steps.
class CheckedCopies final : public PendingCopies {
 public:
  enum class Rule { kWithinAStep, kAnnounced };
  // Takes the checksum of `array`, of which `tensor` is, or will be, a copy. `rule` says when the
  // array may change.
  void expect(std::string name, const ArrayView& array, Tensor tensor,
              Rule rule = Rule::kWithinAStep);
  // Takes the checksum of `tensor`, which is the value itself. Strings are not checked.
  void expect(std::string name, const Tensor& tensor);

  // verify() first waits for these, which fill some of the tensors.
  void wait_for(std::shared_ptr<PendingCopies> copies) { awaited_.push_back(std::move(copies)); }

  // Makes no copies itself.
  void wait() override {}
  void verify() const override;

 private:
  struct Expected {
    std::string name;
    uint64_t checksum = 0;
    Tensor tensor;
    Rule rule = Rule::kWithinAStep;
  };
  std::vector<Expected> expected_;
  std::vector<std::shared_ptr<PendingCopies>> awaited_;
};

}  // namespace crochet::inline v0::internal
