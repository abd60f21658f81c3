// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/saveable.h"

#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet {
namespace {

using ::testing::ThrowsMessage;

TEST(SaveableValueTest, IsRestored) {
  double best = 0.25;
  const auto saveable = saveable_value(best);
  const TensorMap state = saveable->save();
  best = 7;
  saveable->restore(state);
  EXPECT_EQ(best, 0.25);
}

TEST(SaveableValueTest, IsUnchangedIfTheStateDoesNotMatch) {
  int64_t patience = 3;
  const auto saveable = saveable_value(patience);
  const Tensor number = Tensor::scalar<int64_t>(5);
  EXPECT_THAT(
      [&] {
        saveable->restore({{"", Tensor::scalar(5.0f)}});
      },
      ThrowsMessage<InvalidArgumentError>(
          "stored state: found float32 [] = 5, expected one int64"));
  EXPECT_THAT(
      [&] {
        saveable->restore({{"", number}, {"more", number}});
      },
      ThrowsMessage<InvalidArgumentError>("stored state: found 2 values, expected one number"));
  EXPECT_THROW(saveable->restore({}), InvalidArgumentError);
  EXPECT_THROW(saveable->restore({{"key", number}}), InvalidArgumentError);
  EXPECT_THROW(saveable->restore({{"", Tensor::zeros<int64_t>({2})}}), InvalidArgumentError);
  EXPECT_EQ(patience, 3);
}

}  // namespace
}  // namespace crochet
