// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <type_traits>
#include <vector>

#include "crochet/tensor/dtype.h"

namespace crochet::internal {

// What C++ values are to tensors: those who make tensors of values, and values of tensors,
// tell the same kinds apart.

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

// std::vector<bool> is left out: it has no elements in memory.
template <typename T>
inline constexpr bool kIsVectorOfNumbers = false;
template <Element T>
inline constexpr bool kIsVectorOfNumbers<std::vector<T>> = !std::is_same_v<T, bool>;

}  // namespace crochet::internal
