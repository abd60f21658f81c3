// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <type_traits>
#include <vector>

#include "crochet/tensor/dtype.h"

namespace crochet::inline v0::internal {

// The kinds of C++ values that correspond to tensors, shared by the conversions to and from
// tensors.

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

// std::vector<bool> is excluded, since its elements are not stored as bools.
template <typename T>
inline constexpr bool kIsVectorOfNumbers = false;
template <Element T>
inline constexpr bool kIsVectorOfNumbers<std::vector<T>> = !std::is_same_v<T, bool>;

}  // namespace crochet::inline v0::internal
