// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/tensor/tensor.h"

namespace digits {

struct TableStyle {
  bool utf8 = false;    // Unicode lines and dots.
  bool colour = false;  // ANSI colours.
};

// The style for standard output: both only on a terminal, and colours only if
// NO_COLOR is unset.
TableStyle stdout_style();

// Formats a matrix of confusion_matrix(): hits green, mistakes red, zeros as
// dots, and after each row its percentage of hits.
std::string confusion_table(const crochet::Tensor& matrix, const TableStyle& style);

}  // namespace digits
