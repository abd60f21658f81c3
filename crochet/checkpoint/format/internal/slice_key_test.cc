// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/format/internal/slice_key.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/support/raw_bundle.h"

namespace crochet::internal {
namespace {

// The bytes of the key of a slice that starts at `start`, without a name.
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

TEST(SliceKeyTest, HasTheOrderOfNumbers) {
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
