// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/cloud/internal/parse_utc.h"

#include <string>

#include <gtest/gtest.h>

namespace crochet::inline v0::cloud::internal {
namespace {

TEST(ParseUtcTest, ReadsItsForms) {
  EXPECT_EQ(parse_utc("2017-09-18T08:22:00Z"), 1505722920);
  EXPECT_EQ(parse_utc("Mon, 18 Sep 2017 08:22:00 GMT"), 1505722920);
  EXPECT_EQ(parse_utc("2017-09-18T08:22:00.250Z"), 1505722920.25);
  EXPECT_EQ(parse_utc("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_utc("2028-02-29T23:59:60Z"), 1835481600);
}

TEST(ParseUtcTest, RefusesOtherText) {
  for (const std::string text :
       {"", "soon", "2017-09-18", "2017-09-18T08:22:00", "2017-09-18T08:22:00+01:00",
        "2017-13-18T08:22:00Z", "2017-02-29T08:22:00Z", "2017-02-29T08:22:00.000Z",
        "2017-09-18T24:22:00Z", "2017-09-18T08:60:00Z", "2017-09-18T08:22:61Z",
        "2017-09-18T08:22:00Z ", "Mon, 18 Sex 2017 08:22:00 GMT", "Mon, 31 Sep 2017 08:22:00 GMT",
        "Mon, 18 Sep 2017 08:22:00 CET", "Mon, 8 Sep 2017 08:22:00 GMT"})
    EXPECT_EQ(parse_utc(text), std::nullopt) << text;
}

}  // namespace
}  // namespace crochet::inline v0::cloud::internal
