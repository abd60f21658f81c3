// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/copies/borrowed_array.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet {
namespace {

// Bytes that differ from those at any distance that is a multiple of an element's size.
std::vector<std::byte> distinct_bytes(size_t size) {
  std::vector<std::byte> bytes(size);
  uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

// Element (row, column) of `matrix`, which is stored in this order.
std::span<const std::byte> element(std::span<const std::byte> matrix, MemoryOrder order,
                                   const Shape& shape, int64_t row, int64_t column, size_t size) {
  const int64_t index =
      order == MemoryOrder::kRowMajor ? row * shape[1] + column : column * shape[0] + row;
  return matrix.subspan(static_cast<size_t>(index) * size, size);
}

class CopyTest : public testing::TestWithParam<std::tuple<DType, std::pair<int64_t, int64_t>>> {
 protected:
  const DType dtype_ = std::get<0>(GetParam());
  const Shape shape_ = {std::get<1>(GetParam()).first, std::get<1>(GetParam()).second};
  const size_t size_ = element_size(dtype_);
  std::vector<std::byte> memory_ =
      distinct_bytes(static_cast<size_t>(shape_.num_elements()) * size_);

  ArrayView view(MemoryOrder order) { return {dtype_, shape_, memory_.data(), order}; }
};

TEST_P(CopyTest, CopiesOutRowMajorFromAnyMemoryOrder) {
  for (const MemoryOrder order : {MemoryOrder::kRowMajor, MemoryOrder::kColumnMajor}) {
    std::vector<std::byte> copy(memory_.size());
    copy_out(view(order), copy);
    for (int64_t row = 0; row < shape_[0]; ++row)
      for (int64_t column = 0; column < shape_[1]; ++column)
        ASSERT_TRUE(
            std::ranges::equal(element(copy, MemoryOrder::kRowMajor, shape_, row, column, size_),
                               element(memory_, order, shape_, row, column, size_)))
            << row << "," << column;
  }
}

TEST_P(CopyTest, CopiesOutInParts) {
  for (const MemoryOrder order : {MemoryOrder::kRowMajor, MemoryOrder::kColumnMajor}) {
    std::vector<std::byte> whole(memory_.size()), parts(memory_.size());
    copy_out(view(order), whole);
    const size_t unit = part_unit(view(order));
    ASSERT_EQ(parts.size() % unit, 0);
    size_t begin = 0;
    for (size_t units = 1; begin < parts.size(); units = units * 2 + 1) {
      const size_t end = std::min(parts.size(), begin + units * unit);
      const std::byte behind = end < parts.size() ? parts[end] : std::byte{0};
      copy_out(view(order), parts.data(), begin, end);
      ASSERT_EQ(end < parts.size() ? parts[end] : std::byte{0}, behind);
      begin = end;
    }
    EXPECT_EQ(parts, whole);
  }
}

TEST_P(CopyTest, CopiesBackIn) {
  for (const MemoryOrder order : {MemoryOrder::kRowMajor, MemoryOrder::kColumnMajor}) {
    const std::vector<std::byte> original = memory_;
    std::vector<std::byte> copy(memory_.size());
    copy_out(view(order), copy);
    std::ranges::fill(memory_, std::byte{0});
    fill_array(view(order),
               [&](std::span<std::byte> elements) { std::ranges::copy(copy, elements.begin()); });
    EXPECT_EQ(memory_, original);
  }
}

INSTANTIATE_TEST_SUITE_P(AllElementSizes, CopyTest,
                         testing::Combine(testing::Values(DType::kInt8, DType::kHalf, DType::kFloat,
                                                          DType::kDouble, DType::kComplex128),
                                          // Around the tile size of 32, and empty.
                                          testing::Values(std::pair(1, 1), std::pair(1, 7),
                                                          std::pair(7, 1), std::pair(2, 3),
                                                          std::pair(31, 33), std::pair(32, 32),
                                                          std::pair(65, 40), std::pair(0, 4))));

TEST(BorrowedArrayTest, IsRowMajorUnlessItIsAMatrix) {
  std::vector<int32_t> memory(24);
  std::iota(memory.begin(), memory.end(), 0);
  std::vector<int32_t> copy(24);
  copy_out({DType::kInt32,
            {2, 3, 4},
            reinterpret_cast<std::byte*>(memory.data()),
            MemoryOrder::kColumnMajor},
           std::as_writable_bytes(std::span(copy)));
  EXPECT_EQ(copy, memory);
}

}  // namespace
}  // namespace crochet
