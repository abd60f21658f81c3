// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0::internal {

// The key of a slice in the index: a zero byte, the tensor's name, the number of dimensions, and
// the start and length of each, in TensorFlow's encoding, whose bytes have the same order as the
// slices. The slice is encoded as passed, not resolved.
std::string slice_key(std::string_view name, const TensorSlice& slice);

}  // namespace crochet::inline v0::internal
