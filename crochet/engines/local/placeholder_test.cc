// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/engines/local/graph.h"
#include "crochet/session/session.h"

namespace crochet::local {
namespace {

using testing::ThrowsMessage;

class PlaceholderTest : public testing::Test {
 protected:
  FetchValues run(const Fetches& fetches, const Feeds& feeds) {
    return graph_.new_session("")->run(fetches, feeds);
  }

  Graph graph_;
  const Output images_ = graph_.placeholder<float>("images", {-1, 64});
  int calls_ = 0;
  const Output sum_ = graph_.op("sum", {images_}, [this](std::span<const float> x) {
    ++calls_;
    return static_cast<int64_t>(x.size());
  })[0];
};

TEST_F(PlaceholderTest, AcceptsAnyMatchingShape) {
  for (const int64_t batch : {0, 1, 32}) {
    const Tensor value = Tensor::zeros<float>({batch, 64});
    EXPECT_EQ(run(sum_, {{images_, value}}).scalar<int64_t>(), 64 * batch);
    EXPECT_EQ(run(images_, {{images_, value}}).tensor(), value);
  }
}

TEST_F(PlaceholderTest, RejectsAnotherTypeOrShape) {
  const auto feed = [this](const Tensor& value) { return run(sum_, {{images_, value}}); };
  EXPECT_THAT(
      [&] {
        feed(Tensor::zeros<double>({32, 64}));
      },
      ThrowsMessage<InvalidArgumentError>(
          "placeholder \"images\" was fed float64 [32,64], expected float32 [?,64]"));
  EXPECT_THROW(feed(Tensor::zeros<float>({64})), InvalidArgumentError);
  EXPECT_THROW(feed(Tensor::zeros<float>({64, 32})), InvalidArgumentError);
  EXPECT_THROW(feed(Tensor::zeros<float>({32, 64, 1})), InvalidArgumentError);
  EXPECT_THROW(feed(Tensor()), InvalidArgumentError);
  EXPECT_EQ(calls_, 0);
}

TEST_F(PlaceholderTest, RejectsAWrongFeedThatTheRunDoesNotNeed) {
  const auto other = graph_.op("other", [] { return 1; });
  EXPECT_THROW(run(other[0], {{images_, Tensor::scalar(1)}}), InvalidArgumentError);
  run(other[0], {{images_, Tensor::zeros<float>({1, 64})}});
}

TEST_F(PlaceholderTest, MustBeFedIfItIsNeeded) {
  const auto session = graph_.new_session("");
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT([&] { session->run(sum_); },
                ThrowsMessage<InvalidArgumentError>(
                    "placeholder \"images\" must be fed: the run needs a value float32 [?,64]"));
  EXPECT_THROW(session->run(images_), InvalidArgumentError);
  session->run(sum_, {{images_, Tensor::zeros<float>({1, 64})}});
  EXPECT_EQ(calls_, 1);
}

TEST_F(PlaceholderTest, NeedNotBeFedIfItsConsumersAreFed) {
  const Tensor value = Tensor::scalar(int64_t{5});
  EXPECT_EQ(run(sum_, {{sum_, value}}).tensor(), value);
  EXPECT_EQ(calls_, 0);
}

TEST_F(PlaceholderTest, ForgetsTheFedValue) {
  const auto session = graph_.new_session("");
  const Tensor value = Tensor::zeros<float>({1, 64});
  session->run(sum_, {{images_, value}});
  EXPECT_FALSE(value.is_shared());
  EXPECT_THROW(session->run(sum_), InvalidArgumentError);
}

TEST_F(PlaceholderTest, TakesStrings) {
  const Output text = graph_.placeholder("text", DType::kString, {2});
  const auto first =
      graph_.op("first", {text}, [](const Tensor& t) { return t.strings()[0] == "a"; });
  EXPECT_TRUE(run(first[0], {{text, Tensor::from({"a", "b"})}}).scalar<bool>());
  EXPECT_THROW(run(first[0], {{text, Tensor::from({"a"})}}), InvalidArgumentError);
}

TEST_F(PlaceholderTest, RejectsAnInvalidType) {
  EXPECT_THROW(graph_.placeholder("bad", DType::kInvalid, {}), InvalidArgumentError);
  EXPECT_THROW(graph_.placeholder<float>("", {}), InvalidArgumentError);
  EXPECT_THROW(graph_.placeholder<float>("images", {}), AlreadyExistsError);
}

}  // namespace
}  // namespace crochet::local
