// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crochet/engines/local/borrowed_array.h"
#include "crochet/session/snapshot.h"

namespace crochet::inline v0::local {

// A checksum of the elements and their row-major positions, independent of the memory order.
uint64_t checksum(const ArrayView& array);

// Checks that the tensors of a snapshot have the values of the boundary between two steps.
class CheckedCopies final : public PendingCopies {
 public:
  // Sets the pending copies that fill some of the tensors; may be null.
  void set_copies(std::shared_ptr<PendingCopies> copies) { copies_ = std::move(copies); }
  // Takes the checksum of `array`, of which `tensor` is, or will be, a copy.
  void expect(std::string name, const ArrayView& array, Tensor tensor);
  // Takes the checksum of `tensor`, which is the value itself. Strings are not checked.
  void expect(std::string name, const Tensor& tensor);

  void wait() override;
  void verify() const override;

 private:
  struct Expected {
    std::string name;
    uint64_t checksum = 0;
    Tensor tensor;
  };
  std::shared_ptr<PendingCopies> copies_;
  std::vector<Expected> expected_;
};

}  // namespace crochet::inline v0::local
