// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/json_text.h"

#include <limits>

#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

TEST(JsonTextTest, SeparatesMembersAndElements) {
  JsonText text;
  text.begin_object();
  text.member("step", int64_t{100});
  text.member("name", "a\"b\\c\n");
  text.key("lists");
  text.begin_list();
  for (int i = 0; i < 2; ++i) {
    text.begin_list();
    for (int j = 0; j < i * 2; ++j) text.add(0.5);
    text.end_list();
  }
  text.end_list();
  text.key("object");
  text.begin_object();
  text.end_object();
  text.member("last", 2.0);
  text.end_object();
  EXPECT_EQ(text.take(),
            R"({"step":100,"name":"a\"b\\c\n","lists":[[],[0.5,0.5]],"object":{},"last":2.0})");
  EXPECT_EQ(text.take(), "");
}

TEST(JsonTextTest, AStringThatEndsInABracketIsFollowedByAComma) {
  JsonText text;
  text.begin_list();
  for (const char* const each : {"{", "[", ":", ""}) text.add(each);
  text.end_list();
  EXPECT_EQ(text.take(), R"(["{","[",":",""])");
}

TEST(JsonTextTest, WritesValidJsonForAnyNumberAndText) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  JsonText text;
  text.begin_list();
  for (const double number : {kNan, kInfinity, -kInfinity, -0.0, 0.1}) text.add(number);
  text.add(std::string_view("\0\xff", 2));
  text.end_list();
  EXPECT_EQ(text.take(), "[\"NaN\",\"Infinity\",\"-Infinity\",-0.0,0.1,\"\\u0000\xef\xbf\xbd\"]");
}

}  // namespace
}  // namespace crochet::internal
