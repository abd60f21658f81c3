// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tracking/internal/part_names.h"

#include <cstdint>
#include <limits>
#include <set>

#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

TEST(PartNamesTest, KeepsPlainTexts) {
  EXPECT_EQ(name_of_text("conv1.weight"), "conv1.weight");
  EXPECT_EQ(name_of_text("größe 2"), "größe 2");
}

TEST(PartNamesTest, EscapesWhatCannotBePartOfAName) {
  EXPECT_EQ(name_of_text(""), "%");
  EXPECT_EQ(name_of_text("a/b"), "a%2Fb");
  EXPECT_EQ(name_of_text("100%"), "100%25");
  EXPECT_EQ(name_of_text("\n"), "%0A");
  EXPECT_EQ(name_of_text("\xff\xc3"), "%FF%C3");
}

// Every text of one or two bytes.
TEST(PartNamesTest, GivesEachTextANameOfItsOwn) {
  std::set<std::string> names = {std::string(kEmptyName), std::string(kNullName)};
  const auto check = [&](const std::string& text) {
    const std::string name = name_of_text(text);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.find('/'), std::string::npos);
    EXPECT_EQ(text_of_name(name), text);
  };
  check("");
  for (int a = 0; a < 256; ++a) {
    check(std::string(1, static_cast<char>(a)));
    for (int b = 0; b < 256; ++b) check({static_cast<char>(a), static_cast<char>(b)});
  }
}

TEST(PartNamesTest, RejectsOtherNames) {
  for (const char* const name :
       {"", "%4", "%zz", "%41", "%2f", "a/b", "%empty", "%null", "%%", "\x01"})
    EXPECT_EQ(text_of_name(name), std::nullopt) << name;
}

enum class Colour : int8_t { kRed = -1, kBlue = 2 };

TEST(PartNamesTest, NamesIntegersByTheirDecimals) {
  EXPECT_EQ(name_of_key(-5), "-5");
  EXPECT_EQ(key_of_name<int>("-5"), -5);
  EXPECT_EQ(name_of_key(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(key_of_name<uint64_t>("18446744073709551615"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(name_of_key(Colour::kRed), "-1");
  EXPECT_EQ(key_of_name<Colour>("2"), Colour::kBlue);
  EXPECT_EQ(name_of_key(true), "1");
  EXPECT_EQ(name_of_key('a'), "97");
}

TEST(PartNamesTest, RejectsNumbersThatTheTypeCannotHold) {
  EXPECT_EQ(key_of_name<int8_t>("128"), std::nullopt);
  EXPECT_EQ(key_of_name<bool>("2"), std::nullopt);
  EXPECT_EQ(key_of_name<unsigned>("-1"), std::nullopt);
  EXPECT_EQ(key_of_name<uint64_t>("18446744073709551616"), std::nullopt);
  for (const char* const name : {"", "01", "+1", " 1", "1 ", "1.0", "%empty"})
    EXPECT_EQ(key_of_name<int>(name), std::nullopt) << name;
}

}  // namespace
}  // namespace crochet::internal
