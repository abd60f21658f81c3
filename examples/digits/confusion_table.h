// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/tensor/tensor.h"

namespace digits {

struct TableStyle {
  bool utf8 = false;    // Lines and dots of Unicode.
  bool colour = false;  // By ANSI sequences.
};

// What standard output can show: both only on a terminal, and colours only if
// NO_COLOR is unset.
TableStyle stdout_style();

// A matrix of confusion_matrix() to read: hits green, mistakes red, zeros as
// dots, and behind each row the part of it that is right.
std::string confusion_table(const crochet::Tensor& matrix, const TableStyle& style);

}  // namespace digits
