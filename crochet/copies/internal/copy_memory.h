// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::internal {

// Memory for the copies of one borrowed array that snapshots hold. Memory that earlier snapshots no
// longer hold is reused: filling fresh memory takes several times as long.
//
// Other threads may release snapshots at any moment, so whether memory is free is tested once for
// each decision; and only memory of the requested size is kept, so free memory also fits.
//
// Not thread-safe.
class CopyMemory {
 public:
  struct Lent {
    Tensor tensor;              // With undefined contents, to be filled before it is read.
    std::byte* data = nullptr;  // Its elements, known only to the holders of this tensor.
  };

  // Requires: more than Tensor::kInlineBytes bytes. Throws: ResourceExhaustedError.
  Lent lend(DType dtype, const Shape& shape);

 private:
  // Of one size; the newest last. Includes memory that snapshots still hold.
  std::vector<Buffer> kept_;
};

}  // namespace crochet::inline v0::internal
