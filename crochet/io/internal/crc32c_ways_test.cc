// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/crc32c_ways.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "crochet/io/internal/crc32c.h"

namespace crochet::internal {
namespace {

using Way = uint32_t (*)(uint32_t crc, std::span<const std::byte> data);

struct NamedWay {
  const char* name;
  Way extend;
};

class Crc32cWaysTest : public testing::TestWithParam<NamedWay> {
 protected:
  void SetUp() override {
    if (GetParam().extend == extend_crc32c_by_cpu && !cpu_has_crc32c())
      GTEST_SKIP() << "the processor has no instructions for crc32c";
  }
  static uint32_t crc(std::string_view data) {
    return GetParam().extend(0, std::as_bytes(std::span(data)));
  }
};

INSTANTIATE_TEST_SUITE_P(All, Crc32cWaysTest,
                         testing::Values(NamedWay{"Library", extend_crc32c},
                                         NamedWay{"Cpu", extend_crc32c_by_cpu},
                                         NamedWay{"Table", extend_crc32c_by_table}),
                         [](const auto& info) { return info.param.name; });

// From RFC 3720, B.4.
TEST_P(Crc32cWaysTest, MatchesTheStandardsExamples) {
  std::string up(32, '\0');
  for (size_t i = 0; i < up.size(); ++i) up[i] = static_cast<char>(i);
  EXPECT_EQ(crc("123456789"), 0xe3069283);
  EXPECT_EQ(crc(""), 0);
  EXPECT_EQ(crc(std::string(32, '\0')), 0x8a9136aa);
  EXPECT_EQ(crc(std::string(32, '\xff')), 0x62a8ab43);
  EXPECT_EQ(crc(up), 0x46dd794e);
  EXPECT_EQ(crc(std::string(up.rbegin(), up.rend())), 0x113fdb5c);
}

TEST_P(Crc32cWaysTest, EqualsTheOthersForRandomBytesAtRandomPlaces) {
  std::mt19937 random(7);
  std::vector<std::byte> bytes(100'000);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  for (int i = 0; i < 3'000; ++i) {
    const size_t begin = random() % bytes.size();
    const size_t limit = i % 2 == 0 ? 64 : bytes.size();
    const size_t size = random() % (std::min(limit, bytes.size() - begin) + 1);
    const auto part = std::span<const std::byte>(bytes).subspan(begin, size);
    const uint32_t before = random();
    ASSERT_EQ(GetParam().extend(before, part), extend_crc32c_by_table(before, part))
        << size << " bytes at " << begin;
  }
}

TEST_P(Crc32cWaysTest, ExtendsAtEveryOffset) {
  const std::string bytes = "The quick brown fox jumps over the lazy dog";
  const auto all = std::as_bytes(std::span(bytes));
  for (size_t cut = 0; cut <= all.size(); ++cut)
    EXPECT_EQ(GetParam().extend(GetParam().extend(0, all.first(cut)), all.subspan(cut)),
              0x22620404u);
}

}  // namespace
}  // namespace crochet::internal
