// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tracking/epochs.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

template <typename Data>
std::vector<int64_t> indices(const EpochBatch<Data>& batch) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < batch.size(); ++i) result.push_back(batch.index(i));
  return result;
}

// The elements of one epoch, from its beginning.
template <typename Data>
std::vector<int64_t> next_epoch(Epochs<Data>& epochs) {
  std::vector<int64_t> all;
  do {
    for (const int64_t index : indices(epochs.next())) all.push_back(index);
  } while (!epochs.at_end());
  return all;
}

// The order is a promise: checkpoints lean on it. These numbers come from a second implementation
// of what the header describes, in Python.
TEST(EpochsTest, TheOrderIsTheSameEverywhere) {
  Epochs first(10, {.seed = 1});
  EXPECT_THAT(next_epoch(first), ElementsAre(4, 9, 7, 3, 5, 2, 0, 8, 6, 1));
  EXPECT_THAT(next_epoch(first), ElementsAre(7, 4, 8, 1, 0, 3, 9, 5, 2, 6));
  Epochs second(10, {.seed = 2});
  EXPECT_THAT(next_epoch(second), ElementsAre(6, 3, 5, 9, 4, 0, 7, 8, 2, 1));
  Epochs third(10, {.seed = std::numeric_limits<uint64_t>::max()});
  EXPECT_THAT(next_epoch(third), ElementsAre(5, 9, 0, 4, 8, 6, 2, 1, 7, 3));
  Epochs large(100'000, {.batch_size = 100'000, .seed = 7});
  large.next();
  large.next();
  const std::vector<int64_t> order = indices(large.next());
  EXPECT_THAT(std::vector(order.begin(), order.begin() + 5),
              ElementsAre(88480, 22742, 94740, 25767, 31859));
  EXPECT_THAT(std::vector(order.end() - 3, order.end()), ElementsAre(73456, 61102, 70704));
}

TEST(EpochsTest, EachEpochHasEveryElementOnce) {
  for (const int64_t size : {1, 2, 3, 7, 32, 100}) {
    Epochs epochs(size, {.batch_size = 5});
    for (int epoch = 1; epoch <= 4; ++epoch) {
      std::vector<int64_t> all = next_epoch(epochs);
      std::ranges::sort(all);
      std::vector<int64_t> expected(static_cast<size_t>(size));
      std::iota(expected.begin(), expected.end(), 0);
      EXPECT_EQ(all, expected);
      EXPECT_EQ(epochs.number(), epoch);
    }
  }
}

// All 24 orders of 4 elements, each in 1/24 of the epochs.
TEST(EpochsTest, AllOrdersAreEquallyLikely) {
  Epochs epochs(4, {.seed = 3});
  std::map<std::vector<int64_t>, int> counts;
  for (int i = 0; i < 24'000; ++i) ++counts[next_epoch(epochs)];
  EXPECT_EQ(counts.size(), 24U);
  double chi_squared = 0;
  for (const auto& [order, count] : counts) chi_squared += (count - 1000.) * (count - 1000.) / 1000;
  EXPECT_LT(chi_squared, 49.7);  // 23 degrees of freedom: more in one of 1000 seeds.
}

TEST(EpochsTest, BatchesShowTheData) {
  const std::vector<std::string> words = {"a", "b", "c"};
  Epochs epochs(words, {.batch_size = 2, .shuffle = false});
  const auto batch = epochs.next();
  EXPECT_EQ(batch.size(), 2);
  EXPECT_EQ(&batch[1], &words[1]);
  std::vector<std::string> seen;
  for (const std::string& word : batch) seen.push_back(word);
  EXPECT_THAT(seen, ElementsAre("a", "b"));
  EXPECT_FALSE(epochs.at_end());
  const auto last = epochs.next();
  EXPECT_EQ(last.size(), 1);
  EXPECT_EQ(last[0], "c");
  EXPECT_TRUE(epochs.at_end());
}

TEST(EpochsTest, TheDataMayBeChangedThroughABatch) {
  std::array<int, 3> numbers = {1, 2, 3};
  Epochs epochs(numbers, {.batch_size = 3});
  for (int& number : epochs.next()) number *= 10;
  EXPECT_THAT(numbers, ElementsAre(10, 20, 30));
}

TEST(EpochsTest, ANumberIsDataToo) {
  Epochs epochs(3, {.batch_size = 2, .shuffle = false});
  EXPECT_EQ(epochs.next()[1], 1);
  EXPECT_EQ(epochs.next()[0], 2);
}

TEST(EpochsTest, DropsASmallLastBatch) {
  Epochs epochs(7, {.batch_size = 3, .drop_last = true});
  std::set<int64_t> left_out = {0, 1, 2, 3, 4, 5, 6};
  for (const int64_t index : next_epoch(epochs)) left_out.erase(index);
  EXPECT_EQ(left_out.size(), 1U);
  EXPECT_EQ(epochs.number(), 1);
  EXPECT_EQ(epochs.progress(), 1);
  EXPECT_EQ(next_epoch(epochs).size(), 6U);
}

TEST(EpochsTest, CountsEpochs) {
  Epochs epochs(4, {.batch_size = 3});
  EXPECT_EQ(epochs.number(), 0);
  EXPECT_EQ(epochs.completed(), 0);
  EXPECT_EQ(epochs.progress(), 0);
  EXPECT_FALSE(epochs.at_end());
  epochs.next();
  EXPECT_EQ(epochs.number(), 1);
  EXPECT_EQ(epochs.completed(), 0);
  EXPECT_EQ(epochs.progress(), 0.75);
  epochs.next();
  EXPECT_TRUE(epochs.at_end());
  EXPECT_EQ(epochs.number(), 1);
  EXPECT_EQ(epochs.completed(), 1);
  EXPECT_EQ(epochs.progress(), 1);
  epochs.next();
  EXPECT_EQ(epochs.number(), 2);
  EXPECT_EQ(epochs.completed(), 1);
  EXPECT_EQ(epochs.progress(), 1.75);
}

TEST(EpochsTest, ThrowsAfterTheLastEpochAndChangesNothing) {
  Epochs epochs(4, {.batch_size = 2, .num_epochs = 2});
  next_epoch(epochs);
  next_epoch(epochs);
  const TensorMap state = epochs.save();
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT([&] { epochs.next(); },
                ThrowsMessage<OutOfRangeError>(HasSubstr("2 of 2 epochs are complete")));
  EXPECT_EQ(epochs.save(), state);
  EXPECT_TRUE(epochs.at_end());
  Epochs none(4, {.num_epochs = 0});
  EXPECT_THROW(none.next(), OutOfRangeError);
}

TEST(EpochsTest, RejectsImpossibleOptionsAndData) {
  EXPECT_THROW(Epochs(4, {.batch_size = 0}), InvalidArgumentError);
  EXPECT_THROW(Epochs(4, {.num_epochs = -1}), InvalidArgumentError);
  Epochs empty(0);
  EXPECT_THAT([&] { empty.next(); }, ThrowsMessage<InvalidArgumentError>(HasSubstr("0 elements")));
  Epochs small(4, {.batch_size = 5, .drop_last = true});
  EXPECT_THAT([&] { small.next(); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("drop_last leaves out")));
}

// At every position of three epochs, the state of one object continues in another.
TEST(EpochsTest, ContinuesExactlyFromItsState) {
  for (const bool shuffle : {false, true})
    for (const bool drop_last : {false, true}) {
      const EpochsOptions options{
          .batch_size = 3, .seed = 9, .shuffle = shuffle, .drop_last = drop_last};
      for (int saved_after = 0; saved_after < 12; ++saved_after) {
        Epochs one(10, options);
        for (int i = 0; i < saved_after; ++i) one.next();
        EpochsOptions other_seed = options;
        other_seed.seed = 1000;  // The checkpoint's counts.
        Epochs other(10, other_seed);
        other.next();
        other.restore(one.save());
        EXPECT_EQ(other.progress(), one.progress());
        EXPECT_EQ(other.at_end(), one.at_end());
        EXPECT_EQ(other.save(), one.save());
        for (int i = 0; i < 9; ++i) ASSERT_EQ(indices(other.next()), indices(one.next())) << i;
      }
    }
}

TEST(EpochsTest, TheStateIsSmall) {
  Epochs epochs(100'000, {.batch_size = 7});
  epochs.next();
  size_t num_bytes = 0;
  for (const auto& [key, tensor] : epochs.save()) num_bytes += tensor.num_bytes();
  EXPECT_LE(num_bytes, 40U);
}

// A batch of another size begins at the same element; nothing is lost or repeated.
TEST(EpochsTest, TheBatchSizeMayChangeInTheMiddleOfAnEpoch) {
  Epochs one(10, {.batch_size = 4, .seed = 1});
  std::vector<int64_t> all = indices(one.next());
  Epochs other(10, {.batch_size = 5, .seed = 1});
  other.restore(one.save());
  for (const int64_t index : next_epoch(other)) all.push_back(index);
  EXPECT_THAT(all, ElementsAre(4, 9, 7, 3, 5, 2, 0, 8, 6, 1));
}

TEST(EpochsTest, AChangedShuffleCountsFromTheNextEpoch) {
  Epochs one(4, {.batch_size = 2, .seed = 1});
  const auto first = indices(one.next());
  Epochs other(4, {.batch_size = 2, .seed = 1, .shuffle = false});
  other.restore(one.save());
  EXPECT_EQ(indices(other.next()), indices(one.next()));
  EXPECT_THAT(next_epoch(other), ElementsAre(0, 1, 2, 3));
}

TEST(EpochsTest, CompletesTheEpochWithItsElementsWhenTheDataGrows) {
  std::vector<int> data(4);
  Epochs epochs(data, {.batch_size = 3});
  std::vector<int64_t> visited = indices(epochs.next());
  data.resize(6);
  for (const int64_t index : indices(epochs.next())) visited.push_back(index);
  EXPECT_THAT(visited, UnorderedElementsAre(0, 1, 2, 3));
  EXPECT_THAT(next_epoch(epochs), UnorderedElementsAre(0, 1, 2, 3, 4, 5));
  // The same after a restart.
  visited = indices(epochs.next());
  std::vector<int> other_data(7);
  Epochs other(other_data, {.batch_size = 3});
  other.restore(epochs.save());
  for (const int64_t index : indices(other.next())) visited.push_back(index);
  EXPECT_THAT(visited, UnorderedElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(next_epoch(other).size(), 7);
}

TEST(EpochsTest, RefusesDataThatShrinksInTheMiddleOfAnEpoch) {
  std::vector<int> data(4);
  Epochs epochs(data, {.batch_size = 3});
  epochs.next();
  data.resize(3);
  const TensorMap state = epochs.save();
  EXPECT_THAT([&] { epochs.next(); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr(
                  "the data has 3 elements, expected at least 4, as at the beginning of epoch 1")));
  EXPECT_EQ(epochs.save(), state);
}

TEST(EpochsTest, FewerEpochsThanAreCompleteEndAtOnce) {
  Epochs one(2, {.batch_size = 2});
  for (int i = 0; i < 5; ++i) one.next();
  Epochs other(2, {.batch_size = 2, .num_epochs = 3});
  other.restore(one.save());
  EXPECT_THROW(other.next(), OutOfRangeError);
}

TEST(EpochsTest, RejectsStatesThatItCannotHaveSaved) {
  Epochs epochs(10, {.batch_size = 3});
  epochs.next();
  const TensorMap good = epochs.save();
  const auto rejects = [&](const std::string& key, const std::optional<Tensor>& value) {
    TensorMap bad = good;
    if (value)
      bad[key] = *value;
    else
      bad.erase(key);
    EXPECT_THROW(epochs.restore(bad), InvalidArgumentError) << key;
    EXPECT_EQ(epochs.save(), good);
  };
  for (const auto& [key, value] : good) {
    rejects(key, std::nullopt);
    rejects(key, Tensor::scalar(1.0f));
    rejects(key, Tensor::from<int64_t>({1, 2}));
  }
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const int64_t wrong : {int64_t{-1}, kMost}) {
    rejects("epoch", Tensor::scalar(wrong));
    rejects("position", Tensor::scalar(wrong));
    rejects("size", Tensor::scalar(wrong));
  }
  rejects("position", Tensor::scalar<int64_t>(11));
  rejects("epoch", Tensor::scalar<int64_t>(0));
  rejects("size", Tensor::scalar<int64_t>(0));
}

// Of the epoch in which a restore leaves them, or of the next one.
TEST(EpochsTest, HaveARest) {
  const auto places_of_rest = [](auto& epochs) {
    std::vector<int64_t> places;
    for (const auto& batch : epochs.rest_of_epoch())
      for (const int64_t place : batch) places.push_back(place);
    return places;
  };
  Epochs epochs(7, {.batch_size = 3, .shuffle = false, .num_epochs = 2});
  epochs.next();
  Epochs restored(7, {.batch_size = 3, .shuffle = false});
  restored.restore(epochs.save());
  EXPECT_THAT(places_of_rest(restored), testing::ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(places_of_rest(epochs), testing::ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(epochs.completed(), 1);
  EXPECT_THAT(places_of_rest(epochs), testing::ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_EQ(epochs.completed(), 2);
  EXPECT_THROW(places_of_rest(epochs), OutOfRangeError);
}

// A loop that is left has taken only the batches to which it came.
TEST(EpochsTest, MakeABatchOfTheRestWhenTheLoopComesToIt) {
  Epochs epochs(7, {.batch_size = 3, .shuffle = false});
  for (const auto& batch : epochs.rest_of_epoch())
    if (batch[0] == 3) break;
  EXPECT_EQ(epochs.next()[0], 6);
}

}  // namespace
}  // namespace crochet
