// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/tensor_slice.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/raw_bundle.h"

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

TEST(TensorSliceTest, RefusesOtherText) {
  for (const char* const text : {":", "-:", "0", "0,", "0,0", "-1,2", "0,-1", "0,2:", "0,2;-",
                                 "0,2 ", " 0,2", "--", "0,99999999999999999999"})
    EXPECT_THAT([&] { parse_slice(text); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(fmt::format("\"{}\"", text))));
}

TEST(TensorSliceTest, ResolvesWhatIsWhole) {
  EXPECT_EQ(resolved(parse_slice("-:1,2"), {4, 3}), (TensorSlice{{0, 4}, {1, 2}}));
  EXPECT_EQ(resolved({{}}, {0}), (TensorSlice{{0, 0}}));
  EXPECT_EQ(resolved({}, {}), TensorSlice{});
  EXPECT_EQ(whole_slice({4, 3}), (TensorSlice{{0, 4}, {0, 3}}));
}

TEST(TensorSliceTest, RefusesToReachOutside) {
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

TEST(TensorSliceTest, FindsTheRowsThatTwoHaveInCommon) {
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

// The key of a slice without a name that starts at `start`, in its bytes.
std::string key_of_start(int64_t start) {
  const std::string key = slice_key("", {{start, 0}});
  return key.substr(5, key.size() - 6);
}

TEST(SliceKeyTest, AgreesWithTheExamples) {
  EXPECT_EQ(slice_key(std::string("a\0b\xff", 4), parse_slice("-:1,9")),
            from_hex("00 61 00 ff 62 ff 00 00 01 01 02 80 7f 81 89"));
  EXPECT_EQ(slice_key("p", parse_slice("2,2:0,2")), from_hex("00 70 00 01 01 02 82 82 80 82"));
  EXPECT_EQ(slice_key("s", {}), from_hex("00 73 00 01 00"));
  const std::pair<int64_t, const char*> numbers[] = {{0, "80"},
                                                     {1, "81"},
                                                     {63, "bf"},
                                                     {64, "c0 40"},
                                                     {8191, "df ff"},
                                                     {8192, "e0 20 00"},
                                                     {-1, "7f"},
                                                     {1048576, "f0 10 00 00"},
                                                     {-64, "40"},
                                                     {-65, "3f bf"},
                                                     {INT64_MAX, "ff c0 7f ff ff ff ff ff ff ff"},
                                                     {INT64_MIN, "00 3f 80 00 00 00 00 00 00 00"}};
  for (const auto& [number, bytes] : numbers)
    EXPECT_EQ(key_of_start(number), from_hex(bytes)) << number;
}

TEST(SliceKeyTest, SortsAsNumbersDo) {
  std::vector<int64_t> numbers;
  for (int shift = 62; shift >= 0; --shift)
    for (const int64_t plus : {-1, 0}) numbers.push_back(-(int64_t{1} << shift) + plus);
  for (int shift = 0; shift <= 62; ++shift)
    for (const int64_t plus : {-1, 0}) numbers.push_back((int64_t{1} << shift) + plus);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  for (size_t i = 1; i < numbers.size(); ++i)
    EXPECT_LT(key_of_start(numbers[i - 1]), key_of_start(numbers[i])) << numbers[i];
}

}  // namespace
}  // namespace crochet::internal
