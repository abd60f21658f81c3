// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/text.h"

#include <cmath>
#include <complex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/name_filter.h"
#include "tools/number.h"

namespace crochet::tool {
namespace {

TEST(TextTest, NamesAreOneLineWhateverTheyContain) {
  EXPECT_EQ(printable("model/w 1"), "model/w 1");
  EXPECT_EQ(printable("a\nb\tc\rd\x1b[2J\x7f"), "a\\nb\\tc\\rd\\x1b[2J\\x7f");
  EXPECT_EQ(printable("a\\b"), "a\\\\b");
  EXPECT_EQ(printable("größe 日本 😀"), "größe 日本 😀");
  EXPECT_EQ(printable(std::string("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");  // CSI in two bytes.
}

TEST(TextTest, InvalidUtf8IsShownAsBytes) {
  for (const char* const bad :
       {"\xff", "\x80", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe0\x80\x80",
        "\xf0\x80\x80\x80", "\xe2\x82"}) {
    EXPECT_TRUE(printable(bad).starts_with("\\x")) << printable(bad);
    EXPECT_EQ(json_text(bad), printable(bad));
  }
  EXPECT_EQ(json_text("a\\\n"), "a\\\n");  // JSON has escapes of its own.
  EXPECT_EQ(printable_text("C:\\x\n"), "C:\\x\\n");
}

TEST(TextTest, SizesAreShort) {
  EXPECT_EQ(size_text(0), "0");
  EXPECT_EQ(size_text(999), "999");
  EXPECT_EQ(size_text(1000), "1.0k");
  EXPECT_EQ(size_text(9949), "9.9k");
  EXPECT_EQ(size_text(9950), "10k");
  EXPECT_EQ(size_text(999'499), "999k");
  EXPECT_EQ(size_text(999'500), "1.0M");
  EXPECT_EQ(size_text(uint64_t{1} << 30), "1.1G");
  EXPECT_EQ(size_text(UINT64_MAX), "18E");
}

TEST(TextTest, TimesAreUtcOrADash) {
  EXPECT_EQ(time_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(time_text(1700000000.9), "2023-11-14T22:13:20Z");
  for (const double none : {-1.0, 1e300, std::nan("")}) EXPECT_EQ(time_text(none), "-");
}

TEST(TextTest, TablesAreAlignedByCharacters) {
  Table table({{"n", Table::Align::kRight}, {"größe"}, {"name"}});
  table.add({"1", "ä", "x"});
  table.add_note("0.5");
  table.add({"100", "b", "y y"});
  EXPECT_EQ(table.text(),
            "  n  größe  name\n"
            "  1  ä      x\n"
            "  0.5\n"
            "100  b      y y\n");
}

TEST(NumberTest, TextAndJsonPreserveNumbers) {
  EXPECT_EQ(exact_text(0.1f), "0.1");
  EXPECT_EQ(exact_text(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(short_text(1.0 / 3), "0.333333");
  EXPECT_EQ(exact_text(std::complex<double>(1, -0.5)), "1-0.5i");
  EXPECT_EQ(exact_text(std::string("a\n")), "\"a\\n\"");
  EXPECT_EQ(exact_text(Number()), "-");
  EXPECT_EQ(exact_text(true), "true");
  EXPECT_EQ(to_json(UINT64_MAX).dump(), "18446744073709551615");
  EXPECT_EQ(to_json(INT64_MIN).dump(), "-9223372036854775808");
  EXPECT_EQ(to_json(INFINITY).dump(), "\"Infinity\"");
  EXPECT_EQ(to_json(-INFINITY).dump(), "\"-Infinity\"");
  EXPECT_EQ(to_json(std::nan("")).dump(), "\"NaN\"");
  EXPECT_EQ(to_json(std::complex<double>(1, 2)).dump(), "[1.0,2.0]");
  EXPECT_EQ(to_json(Number()).dump(), "null");
}

TEST(NameFilterTest, MatchesShellPatterns) {
  EXPECT_TRUE(matches_glob("model/*", "model/a/b"));
  EXPECT_TRUE(matches_glob("w[0-9]?", "w1x"));
  EXPECT_TRUE(matches_glob("a\\*", "a*"));
  EXPECT_FALSE(matches_glob("model", "model/a"));
  EXPECT_FALSE(matches_glob("", "a"));
  const NameFilter filter{.only = {"a*", "b"}, .ignore = {"*z"}};
  EXPECT_TRUE(filter.takes("a1"));
  EXPECT_TRUE(filter.takes("b"));
  EXPECT_FALSE(filter.takes("az"));
  EXPECT_FALSE(filter.takes("c"));
  EXPECT_TRUE(NameFilter().takes("c"));
}

}  // namespace
}  // namespace crochet::tool
