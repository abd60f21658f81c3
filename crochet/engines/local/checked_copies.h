// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crochet/engines/local/borrowed_array.h"
#include "crochet/session/snapshot.h"

namespace crochet::local {

// A sum over the elements and where they are, row-major; the same whatever the memory order is.
uint64_t checksum(const ArrayView& array);

// Finds out whether the tensors of a snapshot are what they were at the boundary between two steps.
class CheckedCopies final : public PendingCopies {
 public:
  // `copies`, which may be null, fill some of the tensors.
  void set_copies(std::shared_ptr<PendingCopies> copies) { copies_ = std::move(copies); }
  // `array` is what `tensor` is, or will be, a copy of.
  void expect(std::string name, const ArrayView& array, Tensor tensor);
  // `tensor` is the value itself. Strings are not looked at.
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

}  // namespace crochet::local
