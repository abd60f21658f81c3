// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tensor/shape.h"

#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet {
namespace {

using ::testing::ElementsAre;
using ::testing::ThrowsMessage;

TEST(ShapeTest, AScalarHasNoDimensionsAndOneElement) {
  const Shape scalar;
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(scalar.num_elements(), 1);
  EXPECT_TRUE(scalar.is_fully_known());
}

TEST(ShapeTest, CountsElements) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape[1], 3);
  EXPECT_THAT(shape.dimensions(), ElementsAre(2, 3, 4));
  EXPECT_EQ(shape.num_elements(), 24);
  EXPECT_EQ((Shape{5, 0, 7}).num_elements(), 0);
}

TEST(ShapeTest, ConvertsToText) {
  EXPECT_EQ(to_string(Shape{}), "[]");
  EXPECT_EQ(to_string(Shape{64, 128}), "[64,128]");
  EXPECT_EQ(to_string(Shape{Shape::kUnknownDimension, 64}), "[?,64]");
  EXPECT_EQ(fmt::format("{:>6}", Shape{1}), "   [1]");
}

TEST(ShapeTest, RejectsNegativeSizes) {
  EXPECT_THAT(
      [] {
        Shape({2, -2});
      },
      ThrowsMessage<InvalidArgumentError>("shape [2,-2]: a dimension of size -2"));
  EXPECT_THROW(Shape({INT64_MIN}), InvalidArgumentError);
}

TEST(ShapeTest, RejectsMoreElementsThanCanBeCounted) {
  EXPECT_NO_THROW(Shape({INT64_MAX}));
  EXPECT_THROW(Shape({INT64_MAX, 2}), InvalidArgumentError);
  EXPECT_THROW(Shape({int64_t{1} << 32, int64_t{1} << 31}), InvalidArgumentError);
  EXPECT_THROW(Shape({0, int64_t{1} << 62, 4}), InvalidArgumentError);
  EXPECT_THROW(Shape({Shape::kUnknownDimension, INT64_MAX, 2}), InvalidArgumentError);
}

TEST(ShapeTest, KnowsWhetherAllSizesAreKnown) {
  EXPECT_TRUE((Shape{0, 3}).is_fully_known());
  EXPECT_FALSE((Shape{3, Shape::kUnknownDimension}).is_fully_known());
}

TEST(ShapeTest, IsCompatibleIfTheKnownSizesAgree) {
  const Shape batch{Shape::kUnknownDimension, 64};
  EXPECT_TRUE(batch.is_compatible_with({32, 64}));
  EXPECT_TRUE((Shape{32, 64}).is_compatible_with(batch));
  EXPECT_TRUE(batch.is_compatible_with(batch));
  EXPECT_TRUE(batch.is_compatible_with({0, 64}));
  EXPECT_FALSE(batch.is_compatible_with({32, 63}));
  EXPECT_FALSE(batch.is_compatible_with({64}));
  EXPECT_FALSE(batch.is_compatible_with({}));
  EXPECT_TRUE(Shape{}.is_compatible_with({}));
}

TEST(ShapeTest, ComparesSizes) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{1}), Shape{});
}

TEST(ShapeTest, HoldsMoreSizesThanFitInTheObject) {
  for (int64_t rank = 0; rank < 10; ++rank) {
    std::vector<int64_t> sizes;
    for (int64_t i = 0; i < rank; ++i) sizes.push_back(i + 1);
    Shape shape(sizes);
    const Shape copy = shape;
    EXPECT_EQ(copy, shape);
    EXPECT_THAT(copy.dimensions(), testing::ElementsAreArray(sizes));
    const Shape moved = std::move(shape);
    EXPECT_EQ(moved, copy);
    EXPECT_EQ(shape, Shape());  // NOLINT(bugprone-use-after-move): it is empty and usable.
    shape = moved;
    EXPECT_EQ(shape, copy);
    shape = Shape{7};
    EXPECT_EQ(shape, Shape{7});
    EXPECT_THAT(moved.dimensions(), testing::ElementsAreArray(sizes));
  }
}

}  // namespace
}  // namespace crochet
