// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tensor/tensor_slice.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet::internal {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(TensorSliceTest, ReadsAndWritesTensorFlowsText) {
  EXPECT_EQ(parse_slice("0,2:-"), (TensorSlice{{0, 2}, {}}));
  EXPECT_EQ(parse_slice(""), TensorSlice{});
  for (const char* const text : {"", "-", "0,2", "-:1,9", "3,4:-:0,1", "-:-"})
    EXPECT_EQ(to_string(parse_slice(text)), text);
}

TEST(TensorSliceTest, RejectsOtherText) {
  for (const char* const text : {":", "-:", "0", "0,", "0,0", "-1,2", "0,-1", "0,2:", "0,2;-",
                                 "0,2 ", " 0,2", "--", "0,99999999999999999999"})
    EXPECT_THAT([&] { parse_slice(text); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(fmt::format("\"{}\"", text))));
}

TEST(TensorSliceTest, ResolvesWholeDimensions) {
  EXPECT_EQ(resolved(parse_slice("-:1,2"), {4, 3}), (TensorSlice{{0, 4}, {1, 2}}));
  EXPECT_EQ(resolved({{}}, {0}), (TensorSlice{{0, 0}}));
  EXPECT_EQ(resolved({}, {}), TensorSlice{});
  EXPECT_EQ(whole_slice({4, 3}), (TensorSlice{{0, 4}, {0, 3}}));
}

TEST(TensorSliceTest, RejectsSlicesThatReachOutside) {
  const Shape shape{4};
  for (const TensorSlice& slice : {TensorSlice{{3, 2}},
                                   {{4, 1}},
                                   {{5, 1}},
                                   {{0, 0}},
                                   {{-1, 2}},
                                   {{1, -1}},
                                   {{1, INT64_MAX}},
                                   {},
                                   {{0, 1}, {0, 1}}})
    EXPECT_THROW(resolved(slice, shape), InvalidArgumentError) << to_string(slice);
}

std::vector<CommonRow> common_rows(const TensorSlice& from, const TensorSlice& to) {
  std::vector<CommonRow> rows;
  for_each_common_row(from, to, [&](const CommonRow& row) { rows.push_back(row); });
  return rows;
}

TEST(TensorSliceTest, FindsTheCommonRowsOfTwoSlices) {
  const TensorSlice left{{0, 3}, {0, 2}}, middle{{1, 2}, {1, 2}};
  EXPECT_EQ(*intersection(left, middle), (TensorSlice{{1, 2}, {1, 1}}));
  const auto rows = common_rows(left, middle);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].offset_in_from, 3);
  EXPECT_EQ(rows[0].offset_in_to, 0);
  EXPECT_EQ(rows[1].offset_in_from, 5);
  EXPECT_EQ(rows[1].offset_in_to, 2);
  EXPECT_EQ(rows[1].length, 1);
  EXPECT_FALSE(intersection(left, {{0, 3}, {2, 1}}));
  EXPECT_TRUE(common_rows(left, {{0, 3}, {2, 1}}).empty());
  EXPECT_EQ(common_rows({}, {}).size(), 1u);
}

}  // namespace
}  // namespace crochet::internal
