// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "crochet/tensor/tensor_slice.h"

namespace crochet::internal {

// The name of a slice's own entry in the index: a zero byte, the tensor's name, the number of
// dimensions, start and length of each, in TensorFlow's encoding, whose bytes sort as the slices
// do. The slice is taken as it is written, not resolved.
std::string slice_key(std::string_view name, const TensorSlice& slice);

}  // namespace crochet::internal
