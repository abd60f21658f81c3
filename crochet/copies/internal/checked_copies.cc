// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/copies/internal/checked_copies.h"

#include <cstring>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/mix_bits.h"

namespace crochet::inline v0::internal {
namespace {

uint64_t element_bits(const std::byte* data, size_t size) {
  uint64_t words[2] = {};
  std::memcpy(words, data, size);
  return size <= sizeof(uint64_t) ? words[0] : words[0] ^ mix_bits(words[1]);
}

const char* text_of(CheckedCopies::Rule rule) {
  return rule == CheckedCopies::Rule::kAnnounced
             ? "a value with a write barrier may change only after the write is announced"
             : "tracked values may change only within a step and, if the step is in two parts, "
               "only "
               "in the second";
}

template <typename Expected>
[[noreturn]] void throw_changed(const Expected& expected) {
  const std::string text =
      fmt::format("\"{}\" was changed while a snapshot of it was being taken: {}", expected.name,
                  text_of(expected.rule));
  if (expected.rule == CheckedCopies::Rule::kAnnounced) throw UnannouncedWriteError(text);
  throw FailedPreconditionError(text);
}

// The view of a tensor, for reading only.
ArrayView view_of(const Tensor& tensor) {
  return {.dtype = tensor.dtype(),
          .shape = tensor.shape(),
          .data = const_cast<std::byte*>(tensor.bytes().data())};
}

}  // namespace

uint64_t checksum(const ArrayView& array) {
  const size_t size = element_size(array.dtype);
  const bool is_turned = array.order == MemoryOrder::kColumnMajor && array.shape.rank() == 2;
  const auto rows = static_cast<uint64_t>(is_turned ? array.shape[0] : 1);
  const auto columns = is_turned ? static_cast<uint64_t>(array.shape[1]) : array.num_bytes() / size;
  uint64_t sum = 0;
  const std::byte* next = array.data;
  for (uint64_t column = 0; column < columns; ++column)
    for (uint64_t row = 0; row < rows; ++row, next += size)
      sum += mix_bits(element_bits(next, size) + mix_bits(row * columns + column));
  return sum;
}

void CheckedCopies::expect(std::string name, const ArrayView& array, Tensor tensor, Rule rule) {
  expected_.push_back({std::move(name), checksum(array), std::move(tensor), rule});
}

void CheckedCopies::expect(std::string name, const Tensor& tensor) {
  if (tensor.dtype() != DType::kString) expect(std::move(name), view_of(tensor), tensor);
}

void CheckedCopies::verify() const {
  for (const std::shared_ptr<PendingCopies>& copies : awaited_) copies->wait();
  for (const Expected& expected : expected_)
    if (checksum(view_of(expected.tensor)) != expected.checksum) throw_changed(expected);
}

}  // namespace crochet::inline v0::internal
