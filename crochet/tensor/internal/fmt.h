// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Formatters of a tensor's type and shape for {fmt}.

#include <string>

#include <fmt/format.h>

#include "crochet/tensor/dtype.h"
#include "crochet/tensor/shape.h"

template <>
struct fmt::formatter<crochet::DType> : fmt::formatter<fmt::string_view> {
  auto format(crochet::DType dtype, fmt::format_context& context) const {
    return fmt::formatter<fmt::string_view>::format(crochet::dtype_name(dtype), context);
  }
};

template <>
struct fmt::formatter<crochet::Shape> : fmt::formatter<std::string> {
  auto format(const crochet::Shape& shape, fmt::format_context& context) const {
    return fmt::formatter<std::string>::format(crochet::to_string(shape), context);
  }
};
