// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/check_number.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

TEST(CheckNumberTest, AllowsTheLimitAndMore) {
  check_at_least("n", 1, 1);
  check_at_least("secs", 0.0, 0);
  check_above("secs", 1e-9, 0);
  check_at_least("n", std::optional<int64_t>(), 1);
  check_above("secs", std::optional<double>(), 0);
}

TEST(CheckNumberTest, NamesTheNumberAndTheLimit) {
  EXPECT_THAT([] { check_at_least("n", int64_t{-1}, 0); },
              ThrowsMessage<InvalidArgumentError>(StrEq("n is -1, expected 0 or more")));
  EXPECT_THAT([] { check_above("secs", std::optional(0.0), 0); },
              ThrowsMessage<InvalidArgumentError>(StrEq("secs is 0, expected more than 0")));
  EXPECT_THAT([] { check_at_least("n", std::optional(0), 1); },
              ThrowsMessage<InvalidArgumentError>(StrEq("n is 0, expected 1 or more")));
}

TEST(CheckNumberTest, RefusesNan) {
  EXPECT_THROW(check_at_least("secs", std::nan(""), 0), InvalidArgumentError);
  EXPECT_THROW(check_above("secs", std::nan(""), 0), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet::internal
