// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "crochet/checkpoint/format/internal/tensor_source.h"
#include "crochet/checkpoint/torch/internal/torch_index.h"

namespace crochet::inline v0::internal {

// The data of a file of torch. `tensors` and `unreadable` of the index are not used. A storage has
// one checksum: if a tensor is only a part of it, all of it is verified once, before the first
// read.
std::unique_ptr<TensorSource> torch_data(TorchIndex index);

}  // namespace crochet::inline v0::internal
