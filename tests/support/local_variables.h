// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "crochet/copies/borrowed_array.h"
#include "crochet/session/session.h"

// For tests of the local engine: values of variables, and where they are in memory.
namespace crochet::inline v0 {

inline ArrayView view_of(std::vector<int64_t>& array) {
  return {DType::kInt64,
          {static_cast<int64_t>(array.size())},
          reinterpret_cast<std::byte*>(array.data())};
}

}  // namespace crochet::inline v0

namespace crochet::inline v0::local {

inline Tensor snapshot_of(crochet::Session& session, const Variable& variable) {
  return session.snapshot({&variable, 1}).tensors().at(0).tensor;
}

inline float element(const Tensor& tensor, size_t index) { return tensor.flat<float>()[index]; }
inline const std::byte* address_of(const Tensor& tensor) { return tensor.bytes().data(); }

}  // namespace crochet::inline v0::local
