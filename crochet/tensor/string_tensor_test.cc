// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/tensor/tensor.h"

namespace crochet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

const std::string kLong(1000, 'x');

TEST(StringTensorTest, HoldsStringsOfAnyBytes) {
  const std::string zeros("\0\0", 2);
  const Tensor tensor = Tensor::from({"ab", "", kLong, zeros}, {2, 2});
  EXPECT_TRUE(tensor.is_set());
  EXPECT_EQ(tensor.dtype(), DType::kString);
  EXPECT_EQ(tensor.shape(), (Shape{2, 2}));
  EXPECT_EQ(tensor.num_elements(), 4);
  EXPECT_THAT(tensor.strings(), ElementsAre("ab", "", kLong, zeros));
  EXPECT_EQ(tensor.num_bytes(), 2 + 1000 + 2u);
}

TEST(StringTensorTest, HasItsLengthAsShapeByDefault) {
  EXPECT_EQ(Tensor::from({"a", "b"}).shape(), Shape{2});
  EXPECT_EQ(Tensor::scalar(kLong).shape(), Shape{});
  const Tensor scalar = Tensor::scalar(kLong), none = Tensor::from(std::vector<std::string>{});
  EXPECT_THAT(scalar.strings(), ElementsAre(kLong));
  EXPECT_THAT(none.strings(), IsEmpty());
  EXPECT_EQ(Tensor::from(std::vector<std::string>{}, {0, 3}).num_elements(), 0);
}

TEST(StringTensorTest, RejectsAWrongNumberOfValues) {
  EXPECT_THAT(
      [] {
        Tensor::from({"a", "b", "c"}, {2, 2});
      },
      ThrowsMessage<InvalidArgumentError>("tensor of shape [2,2]: found 3 values, expected 4"));
  EXPECT_THROW(Tensor::from({"a"}, {Shape::kUnknownDimension}), InvalidArgumentError);
}

TEST(StringTensorTest, CopiesShareUntilOneIsWrittenTo) {
  Tensor original = Tensor::from({"a", kLong});
  const Tensor copy = original;
  EXPECT_EQ(copy.strings().data(), original.strings().data());
  original.mutable_strings()[0] = "changed";
  EXPECT_THAT(copy.strings(), ElementsAre("a", kLong));
  EXPECT_THAT(original.strings(), ElementsAre("changed", kLong));
  const std::string* const data = original.strings().data();
  original.mutable_strings()[1].clear();
  EXPECT_EQ(original.strings().data(), data) << "it is the only holder";
}

TEST(StringTensorTest, MovesItsStrings) {
  Tensor original = Tensor::from({"a", kLong});
  const std::string* const data = original.strings().data();
  Tensor moved = std::move(original);
  EXPECT_EQ(moved.strings().data(), data);
  moved = Tensor::scalar(1.0f);
  EXPECT_EQ(moved.scalar<float>(), 1);
}

TEST(StringTensorTest, ACopyNeverChanges) {
  Tensor text = Tensor::from({kLong});
  std::vector<std::jthread> savers;
  for (int step = 0; step < 20; ++step) {
    savers.emplace_back([snapshot = text, expected = text.strings()[0]] {
      EXPECT_EQ(snapshot.strings()[0], expected);
    });
    text.mutable_strings()[0] += "y";
  }
}

TEST(StringTensorTest, HasNoBytes) {
  Tensor tensor = Tensor::from({"a", "b"});
  EXPECT_THAT([&] { tensor.bytes(); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("string [2] has no contiguous bytes")));
  EXPECT_THROW(tensor.mutable_bytes(), InvalidArgumentError);
  EXPECT_THROW(tensor.flat<uint8_t>(), InvalidArgumentError);
  EXPECT_THROW(Tensor::scalar("a").to_double(), InvalidArgumentError);
}

TEST(StringTensorTest, RejectsNumbersAsStrings) {
  Tensor tensor = Tensor::scalar(1.0f);
  EXPECT_THAT([&] { tensor.strings(); },
              ThrowsMessage<InvalidArgumentError>("tensor: found type float32, expected string"));
  EXPECT_THROW(tensor.mutable_strings(), InvalidArgumentError);
  const Tensor unset;
  EXPECT_THROW(unset.strings(), InvalidArgumentError);
}

TEST(StringTensorTest, EqualsATensorWithTheSameShapeAndStrings) {
  const Tensor tensor = Tensor::from({"ab", "c"});
  EXPECT_EQ(tensor, Tensor::from({"ab", "c"}));
  EXPECT_NE(tensor, Tensor::from({"a", "bc"}));
  EXPECT_NE(tensor, Tensor::from({"ab", "c"}, {2, 1}));
  EXPECT_NE(tensor, Tensor::zeros<float>({2}));
}

TEST(StringTensorTest, DescribesItself) {
  EXPECT_EQ(describe(Tensor::from({"a", "b"})), "string [2]");
  EXPECT_EQ(describe(Tensor::scalar("cat")), "string [] = \"cat\"");
  EXPECT_EQ(describe(Tensor::scalar(kLong)), "string [] = \"" + std::string(40, 'x') + "\"...");
}

}  // namespace
}  // namespace crochet
