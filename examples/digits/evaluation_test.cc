// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "evaluation.h"

#include <algorithm>
#include <numeric>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "confusion_table.h"

namespace digits {
namespace {

using testing::HasSubstr;

TEST(EvaluationTest, ConfusionMatrixCountsEverySampleInItsRow) {
  const Digits digits = load_digits(DIGITS_DATA);
  const Perceptron model(kPixels, 16, kClasses, 1);
  const crochet::Tensor matrix = confusion_matrix(model, digits.test);
  EXPECT_EQ(matrix.shape(), crochet::Shape({10, 10}));
  const auto counts = matrix.flat<int64_t>();
  int64_t hits = 0;
  for (int label = 0; label < kClasses; ++label) {
    const auto row = counts.subspan(static_cast<size_t>(label) * kClasses, kClasses);
    EXPECT_EQ(std::accumulate(row.begin(), row.end(), int64_t{0}),
              (digits.test.labels.array() == label).count());
    hits += row[static_cast<size_t>(label)];
  }
  EXPECT_FLOAT_EQ(accuracy(model, digits.test), static_cast<float>(hits) / 360.0f);
}

TEST(ConfusionTableTest, IsPlainAsciiUnlessAskedOtherwise) {
  crochet::Tensor matrix = crochet::Tensor::zeros<int64_t>({10, 10});
  matrix.mutable_flat<int64_t>()[0] = 30;
  matrix.mutable_flat<int64_t>()[3] = 10;
  const std::string plain = confusion_table(matrix, {});
  EXPECT_THAT(plain, HasSubstr("\n0 |  30   .   .  10   .   .   .   .   .   .    75.0 %\n"));
  EXPECT_TRUE(
      std::ranges::all_of(plain, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  EXPECT_THAT(confusion_table(matrix, {.utf8 = true}), HasSubstr("0 │  30   ·   ·  10"));
  EXPECT_THAT(confusion_table(matrix, {.colour = true}), HasSubstr("\x1b[32m  30\x1b[0m"));
}

}  // namespace
}  // namespace digits
