// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "crochet/tensor/tensor.h"

namespace crochet::local {

// Memory for the copies of one borrowed array that snapshots hold. What former snapshots no longer
// hold is used again: fresh memory takes several times as long to be filled.
//
// Other threads let go of snapshots at any moment, so whether memory is free is asked once for each
// decision; and only memory of the size that is asked for is ever kept, so what is free also fits.
//
// Not thread-safe.
class CopyMemory {
 public:
  struct Lent {
    Tensor tensor;              // Of undefined content, to be filled before anybody reads it.
    std::byte* data = nullptr;  // Its elements; nobody but this tensor's holders know them.
  };

  // Requires: more than Tensor::kInlineBytes bytes. Throws: ResourceExhaustedError.
  Lent lend(DType dtype, const Shape& shape);

 private:
  // Of one size; the newest last. Also what snapshots still hold.
  std::vector<Buffer> kept_;
};

}  // namespace crochet::local
