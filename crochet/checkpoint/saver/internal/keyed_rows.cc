// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/keyed_rows.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "crochet/tensor/internal/visit_type.h"

namespace crochet::inline v0::internal {
namespace {

size_t num_rows(const Tensor& column) { return static_cast<size_t>(column.num_elements()); }

std::string text_of(const Tensor& column, size_t row) {
  if (column.dtype() == DType::kString) return column.strings()[row];
  std::string text = "?";
  visit_type<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float,
             double, bool>(column.dtype(), [&](auto type) {
    text = fmt::format("{}", column.flat<decltype(type)>()[row]);
  });
  return text;
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
  const size_t bytes = element_size(first.dtype());
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

bool is_column(const TensorMap& state, const std::string& key, const Tensor& keys) {
  const auto found = state.find(key);
  return found != state.end() && found->second.shape().rank() == 1 &&
         num_rows(found->second) == num_rows(keys);
}

// Columns with one row an entry in both, of the same types; otherwise the object itself rejects
// what is stored.
bool are_alike(const TensorMap& present, const TensorMap& stored, const std::string& key_column) {
  if (!stored.contains(key_column) || !present.contains(key_column)) return false;
  return present.size() == stored.size() && std::ranges::all_of(stored, [&](const auto& entry) {
           const auto& [key, column] = entry;
           return is_column(stored, key, stored.at(key_column)) &&
                  is_column(present, key, present.at(key_column)) &&
                  present.at(key).dtype() == column.dtype();
         });
}

}  // namespace

KeyedRows::KeyedRows(const TensorMap& present, TensorMap stored, const std::string& key_column,
                     const std::function<bool(const std::string& key)>& stays,
                     const std::function<bool(const std::string& key)>& is_left_out)
    : wanted(std::move(stored)) {
  if (!are_alike(present, wanted, key_column)) return;
  const std::vector<std::string> own = texts_of(present.at(key_column));
  const std::vector<std::string> others = texts_of(wanted.at(key_column));
  const std::set<std::string_view> own_keys(own.begin(), own.end());
  const std::set<std::string_view> other_keys(others.begin(), others.end());
  Rows own_rows, taken;
  for (size_t row = 0; row < own.size(); ++row) {
    if (other_keys.contains(own[row])) continue;
    const bool is_staying = stays(own[row]);
    (is_staying ? staying : dropped).push_back(own[row]);
    if (is_staying) own_rows.push_back(row);
  }
  for (size_t row = 0; row < others.size(); ++row) {
    const bool is_new = !own_keys.contains(others[row]);
    const bool is_taken = !is_new || !is_left_out(others[row]);
    if (is_new) (is_taken ? made : left_out).push_back(others[row]);
    if (is_taken) taken.push_back(row);
  }
  if (own_rows.empty() && taken.size() == others.size()) return;
  for (auto& [key, column] : wanted) column = joined(column, taken, present.at(key), own_rows);
}

}  // namespace crochet::inline v0::internal
