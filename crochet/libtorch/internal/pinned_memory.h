// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include <ATen/core/Tensor.h>

#include "crochet/base/internal/process_bound.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::libtorch::internal {

// Memory of the CPU to which devices copy tensors. It is page-locked, which is what lets a copy run
// beside the program, or ordinary memory where LibTorch cannot lock it. Memory that snapshots no
// longer hold is kept for the next one, because locking it takes longer than a copy.
//
// Thread-safe. A forked child has memory of its own.
class PinnedMemory {
 public:
  // A tensor on the CPU, to be copied to.
  class Piece {
   public:
    explicit Piece(at::Tensor memory) : memory_(std::move(memory)) {}

    const at::Tensor& memory() const { return memory_; }
    // It is not lent again: a device may still write to it.
    void abandon() { is_abandoned_ = true; }
    bool is_abandoned() const { return is_abandoned_; }

   private:
    const at::Tensor memory_;
    std::atomic<bool> is_abandoned_ = false;
  };
  struct Lent {
    std::shared_ptr<Piece> piece;
    Tensor tensor;  // The same elements. They are lent until its last copy is destroyed.
  };

  PinnedMemory();

  // Memory for a copy of the tensor, with undefined contents. Requires: it has elements, of a type
  // that checkpoints have. Throws: ResourceExhaustedError.
  Lent lend(const at::Tensor& tensor);
  // The pieces that are kept and not lent.
  size_t num_free();

 private:
  class Pool;
  class Loan;

  const std::shared_ptr<crochet::internal::PerProcess<Pool>> pool_;
};

}  // namespace crochet::inline v0::libtorch::internal
