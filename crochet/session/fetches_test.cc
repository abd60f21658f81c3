// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/fetches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

class FetchesTest : public ::testing::Test {
 protected:
  std::vector<Output> leaves(const Fetches& fetches) {
    std::vector<Output> leaves;
    flatten(fetches, leaves);
    return leaves;
  }

  const OperationInfo gradients_ = {.graph = nullptr, .name = "gradients", .num_outputs = 3};
  const OperationInfo train_ = {.graph = nullptr, .name = "train", .num_outputs = 0};
  const Output dw_{&gradients_, 0};
  const Output db_{&gradients_, 1};
  const Output loss_{&gradients_, 2};
};

TEST_F(FetchesTest, AskForNothingByDefault) {
  EXPECT_TRUE(Fetches().empty());
  EXPECT_THAT(leaves({}), IsEmpty());
}

TEST_F(FetchesTest, AskForOneOutputOrOperation) {
  EXPECT_EQ(*Fetches(loss_).as_output(), loss_);
  EXPECT_EQ(*Fetches(Operation(&train_)).as_output(), Output(&train_, Output::kNoValue));
  EXPECT_EQ(*Fetches("loss").as_name(), "loss");
}

TEST_F(FetchesTest, AskForLists) {
  const Fetches fetches = {dw_, loss_, dw_};
  ASSERT_NE(fetches.as_list(), nullptr);
  EXPECT_THAT(leaves(fetches), ElementsAre(dw_, loss_, dw_));
}

TEST_F(FetchesTest, AskForMapsWithinMaps) {
  const Fetches fetches = {{"loss", loss_}, {"gradients", {dw_, db_}}};
  ASSERT_NE(fetches.as_map(), nullptr);
  EXPECT_THAT(leaves(fetches), ElementsAre(dw_, db_, loss_)) << "in the order of the keys";
}

TEST_F(FetchesTest, AskForNamesInListsAndMaps) {
  const Fetches list = Fetches::List{"a", loss_, "b"};
  ASSERT_EQ(list.as_list()->size(), 3);
  EXPECT_EQ(*list.as_list()->at(0).as_name(), "a");
  const Fetches map = {{"x", "a"}, {"y", "b"}};
  EXPECT_EQ(*map.as_map()->at("y").as_name(), "b");
}

TEST_F(FetchesTest, ValuesHaveTheStructureOfTheRequest) {
  const Fetches fetches = Fetches::Map{{"gradients", {dw_, db_}},
                                       {"nothing", {}},
                                       {"train", Operation(&train_)},
                                       {"z", Fetches::List{loss_, Fetches::List{}}}};
  std::vector<Tensor> values = {Tensor::scalar(1.0f), Tensor::scalar(2.0f), Tensor(),
                                Tensor::scalar(3.0f), Tensor::scalar(4.0f)};
  std::span<Tensor> rest = values;
  const FetchValues result = unflatten(fetches, rest);
  EXPECT_EQ(result["gradients"][0].scalar<float>(), 1);
  EXPECT_EQ(result["gradients"][1].scalar<float>(), 2);
  EXPECT_FALSE(result["nothing"]);
  EXPECT_FALSE(result["train"].tensor().is_set());
  EXPECT_EQ(result["z"][0].scalar<float>(), 3);
  EXPECT_THAT(*result["z"][1].as_list(), IsEmpty());
  EXPECT_EQ(rest.size(), 1) << "one value is left for whoever comes next";
}

TEST_F(FetchesTest, ValuesSayWhatTheyAreInstead) {
  const FetchValues nothing;
  const FetchValues one(Tensor::scalar(1.0f));
  const FetchValues list(FetchValues::List{one, one});
  const FetchValues map(FetchValues::Map{{"a", one}, {"b", one}});
  EXPECT_FALSE(nothing);
  EXPECT_TRUE(one);
  EXPECT_THAT([&] { nothing.tensor(); },
              ThrowsMessage<InvalidArgumentError>(
                  "one tensor was expected of a run that was asked for nothing"));
  EXPECT_THAT([&] { list.tensor(); },
              ThrowsMessage<InvalidArgumentError>(
                  "one tensor was expected of a run that was asked for a list"));
  EXPECT_THAT([&] { list[2]; },
              ThrowsMessage<InvalidArgumentError>("fetched values have no item 2, they are 2"));
  EXPECT_THAT([&] { map[0]; }, ThrowsMessage<InvalidArgumentError>(
                                   "item 0 was expected of a run that was asked for a map"));
  EXPECT_THAT([&] { map["c"]; }, ThrowsMessage<InvalidArgumentError>(
                                     "fetched values have no item \"c\"; they have: a, b"));
  EXPECT_THAT([&] { one["a"]; },
              ThrowsMessage<InvalidArgumentError>(
                  "item \"a\" was expected of a run that was asked for one tensor"));
}

TEST_F(FetchesTest, OutputsReadAsText) {
  EXPECT_EQ(to_string(loss_), "gradients:2");
  EXPECT_EQ(to_string(Operation(&train_)), "train");
  EXPECT_EQ(to_string(Output()), "(none)");
}

TEST_F(FetchesTest, OutputsAreEqualIfTheyAreTheSamePlace) {
  EXPECT_EQ(Operation(&gradients_)[2], loss_);
  EXPECT_NE(dw_, db_);
  EXPECT_EQ(std::hash<Output>()(loss_), std::hash<Output>()(Operation(&gradients_)[2]));
  EXPECT_FALSE(Output());
  EXPECT_FALSE(Operation());
  EXPECT_FALSE(Variable());
}

TEST_F(FetchesTest, AnOperationHasItsOutputsOnly) {
  const Operation gradients(&gradients_);
  for (const int index : {-1, 3, 1000})
    EXPECT_THROW(gradients.output(index), InvalidArgumentError) << index;
  EXPECT_THAT([&] { gradients[3]; }, ThrowsMessage<InvalidArgumentError>(
                                         "operation \"gradients\" has 3 outputs, none of index 3"));
}

}  // namespace
}  // namespace crochet
