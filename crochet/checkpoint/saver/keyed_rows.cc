// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/keyed_rows.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {
namespace {

size_t num_rows(const Tensor& column) { return static_cast<size_t>(column.num_elements()); }

std::string text_of(const Tensor& column, size_t row) {
  if (column.dtype() == DType::kString) return column.strings()[row];
  return to_string_of_element(column, row);
}

std::vector<std::string> texts_of(const Tensor& column) {
  std::vector<std::string> texts;
  texts.reserve(num_rows(column));
  for (size_t row = 0; row < num_rows(column); ++row) texts.push_back(text_of(column, row));
  return texts;
}

using Rows = std::vector<size_t>;

// Rows of one column, and then rows of another of the same type.
Tensor joined(const Tensor& first, const Rows& first_rows, const Tensor& second,
              const Rows& second_rows) {
  if (first.dtype() == DType::kString) {
    std::vector<std::string> strings;
    for (const size_t row : first_rows) strings.push_back(first.strings()[row]);
    for (const size_t row : second_rows) strings.push_back(second.strings()[row]);
    return Tensor::from(strings);
  }
  const size_t bytes = size_of(first.dtype());
  Tensor result(first.dtype(), {static_cast<int64_t>(first_rows.size() + second_rows.size())});
  std::byte* next = result.mutable_bytes().data();
  const auto copy = [&](const Tensor& from, const Rows& rows) {
    for (const size_t row : rows) {
      std::memcpy(next, from.bytes().data() + row * bytes, bytes);
      next += bytes;
    }
  };
  copy(first, first_rows);
  copy(second, second_rows);
  return result;
}

}  // namespace
}  // namespace crochet::inline v0::internal
