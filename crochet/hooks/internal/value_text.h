// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::internal {

// A value as logs show it: "0.25", "-" if it is unset, "[1 2 3 ... 8 9 10]" for many, followed by
// the shape if there are two or more dimensions. No exponents for small numbers down to 1e-8.
std::string value_text(const Tensor& value);

}  // namespace crochet::inline v0::internal
