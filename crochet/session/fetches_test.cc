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

TEST_F(FetchesTest, RequestNothingByDefault) {
  EXPECT_TRUE(Fetches().empty());
  EXPECT_THAT(leaves({}), IsEmpty());
}

TEST_F(FetchesTest, RequestOneOutputOrOperation) {
  const Fetches output = loss_, operation = Operation(&train_), name = "loss";
  EXPECT_EQ(*output.as_output(), loss_);
  EXPECT_EQ(*operation.as_output(), Output(&train_, Output::kNoValue));
  EXPECT_EQ(*name.as_name(), "loss");
}

TEST_F(FetchesTest, RequestLists) {
  const Fetches fetches = {dw_, loss_, dw_};
  ASSERT_NE(fetches.as_list(), nullptr);
  EXPECT_THAT(leaves(fetches), ElementsAre(dw_, loss_, dw_));
}

TEST_F(FetchesTest, RequestMapsWithinMaps) {
  const Fetches fetches = {{"loss", loss_}, {"gradients", {dw_, db_}}};
  ASSERT_NE(fetches.as_map(), nullptr);
  EXPECT_THAT(leaves(fetches), ElementsAre(dw_, db_, loss_)) << "ordered by key";
}

TEST_F(FetchesTest, RequestNamesInListsAndMaps) {
  const Fetches list = Fetches::List{"a", loss_, "b"};
  ASSERT_EQ(list.as_list()->size(), 3);
  EXPECT_EQ(*list.as_list()->at(0).as_name(), "a");
  const Fetches map = Fetches::Map{{"x", "a"}, {"y", "b"}};
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
  EXPECT_EQ(rest.size(), 1) << "one value is left over";
}

TEST_F(FetchesTest, ValuesOfAnotherKindAreNamedInErrors) {
  const FetchValues nothing;
  const FetchValues one(Tensor::scalar(1.0f));
  const FetchValues list(FetchValues::List{one, one});
  const FetchValues map(FetchValues::Map{{"a", one}, {"b", one}});
  EXPECT_FALSE(nothing);
  EXPECT_TRUE(one);
  EXPECT_THAT([&] { nothing.tensor(); }, ThrowsMessage<InvalidArgumentError>(
                                             "fetched values: found nothing, expected one tensor"));
  EXPECT_THAT([&] { list.tensor(); }, ThrowsMessage<InvalidArgumentError>(
                                          "fetched values: found a list, expected one tensor"));
  EXPECT_THAT([&] { list[2]; },
              ThrowsMessage<InvalidArgumentError>("fetched values: no item 2 in a list of 2"));
  EXPECT_THAT([&] { map[0]; }, ThrowsMessage<InvalidArgumentError>(
                                   "fetched values: found a map, expected a list with item 0"));
  EXPECT_THAT([&] { map["c"]; }, ThrowsMessage<InvalidArgumentError>(
                                     "fetched values: no item \"c\" in a map with: a, b"));
  EXPECT_THAT([&] { one["a"]; },
              ThrowsMessage<InvalidArgumentError>(
                  "fetched values: found one tensor, expected a map with item \"a\""));
}

TEST_F(FetchesTest, OutputsConvertToText) {
  EXPECT_EQ(to_string(loss_), "gradients:2");
  EXPECT_EQ(to_string(Operation(&train_)), "train");
  EXPECT_EQ(to_string(Output()), "(none)");
}

TEST_F(FetchesTest, OutputsAreEqualIfOperationAndIndexAre) {
  EXPECT_EQ(Operation(&gradients_)[2], loss_);
  EXPECT_NE(dw_, db_);
  EXPECT_EQ(std::hash<Output>()(loss_), std::hash<Output>()(Operation(&gradients_)[2]));
  EXPECT_FALSE(Output());
  EXPECT_FALSE(Operation());
  EXPECT_FALSE(Variable());
}

TEST_F(FetchesTest, RejectsAnIndexBeyondTheOutputs) {
  const Operation gradients(&gradients_);
  for (const int index : {-1, 3, 1000})
    EXPECT_THROW(gradients.output(index), InvalidArgumentError) << index;
  EXPECT_THAT([&] { gradients[3]; }, ThrowsMessage<InvalidArgumentError>(
                                         "operation \"gradients\": output 3 of 3 does not exist"));
}

TEST_F(FetchesTest, RequestListsOfNamesInBraces) {
  const Fetches names = {"loss", "accuracy"};
  ASSERT_NE(names.as_list(), nullptr);
  ASSERT_EQ(names.as_list()->size(), 2u);
  EXPECT_EQ(*names.as_list()->at(0).as_name(), "loss");
  EXPECT_EQ(*names.as_list()->at(1).as_name(), "accuracy");
  const Fetches mixed = {"loss", dw_, std::string("accuracy"), Operation(&train_), Fetches{db_}};
  ASSERT_EQ(mixed.as_list()->size(), 5u);
  EXPECT_EQ(*mixed.as_list()->at(1).as_output(), dw_);
  EXPECT_EQ(*mixed.as_list()->at(2).as_name(), "accuracy");
  const Fetches nested = {{"losses", {"total", loss_}}};
  EXPECT_EQ(*nested.as_map()->at("losses").as_list()->at(0).as_name(), "total");
  const Fetches map = Fetches::Map{{"loss", "total"}};
  EXPECT_EQ(*map.as_map()->at("loss").as_name(), "total");
}

// {{"loss", "accuracy"}} could be a list of names or a map of one: it is neither.
static_assert(std::is_constructible_v<Fetches::Entry, const char*, Output>);
static_assert(std::is_constructible_v<Fetches::Entry, const char*, Fetches>);
static_assert(!std::is_constructible_v<Fetches::Entry, const char*, const char*>);
static_assert(!std::is_constructible_v<Fetches::Entry, const char (&)[5], const char (&)[9]>);
static_assert(!std::is_constructible_v<Fetches::Entry, std::string, std::string>);

// References into a temporary would dangle: accessors return a value or do not compile.
using Values = FetchValues;
static_assert(std::is_same_v<decltype(std::declval<Values&>().tensor()), const Tensor&>);
static_assert(std::is_same_v<decltype(std::declval<Values>().tensor()), Tensor>);
static_assert(std::is_same_v<decltype(std::declval<const Values&>()["a"]), const Values&>);
static_assert(std::is_same_v<decltype(std::declval<Values>()["a"]), Values>);
static_assert(std::is_same_v<decltype(std::declval<Values>()[size_t{0}]), Values>);
template <typename T>
concept PointsIntoValues = requires(T&& values) {
  std::forward<T>(values).as_tensor();
}
|| requires(T&& values) { std::forward<T>(values).as_list(); }
|| requires(T&& values) { std::forward<T>(values).as_map(); };
template <typename T>
concept PointsIntoFetches = requires(T&& fetches) {
  std::forward<T>(fetches).as_output();
}
|| requires(T&& fetches) { std::forward<T>(fetches).as_name(); }
|| requires(T&& fetches) { std::forward<T>(fetches).as_list(); }
|| requires(T&& fetches) { std::forward<T>(fetches).as_map(); };
static_assert(PointsIntoValues<const FetchValues&> && PointsIntoFetches<const Fetches&>);
static_assert(!PointsIntoValues<FetchValues> && !PointsIntoValues<const FetchValues>);
static_assert(!PointsIntoFetches<Fetches> && !PointsIntoFetches<const Fetches>);

TEST_F(FetchesTest, ValuesOfATemporaryAreMovedOut) {
  const auto make = [] {
    const FetchValues one(Tensor::from<float>(std::vector<float>(100, 7)));
    return FetchValues(FetchValues::Map{{"a", FetchValues(FetchValues::List{one, one})}});
  };
  const Tensor& tensor = make()["a"][1].tensor();
  EXPECT_EQ(tensor.flat<float>()[99], 7);
  EXPECT_FALSE(tensor.is_shared());
  EXPECT_THROW(make()["b"], InvalidArgumentError);
  EXPECT_THROW(make().tensor(), InvalidArgumentError);
}

TEST_F(FetchesTest, CopiesShareListsMapsAndNames) {
  const Fetches list = {dw_, db_}, map = Fetches::Map{{"loss", loss_}}, name = "loss";
  Fetches copy = list;
  EXPECT_EQ(copy.as_list(), list.as_list());
  copy = map;
  EXPECT_EQ(copy.as_map(), map.as_map());
  EXPECT_EQ(copy.as_list(), nullptr);
  copy = name;
  EXPECT_EQ(copy.as_name(), name.as_name());
  copy = loss_;
  EXPECT_EQ(*copy.as_output(), loss_);
  EXPECT_EQ(copy.as_name(), nullptr);
  EXPECT_EQ(*name.as_name(), "loss");
  const FetchValues values(FetchValues::List{FetchValues(Tensor::scalar(1.0f))});
  FetchValues same;
  same = values;
  EXPECT_EQ(same.as_list(), values.as_list());
}

}  // namespace
}  // namespace crochet
