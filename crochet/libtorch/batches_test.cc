// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/batches.h"

#include <latch>
#include <memory>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "crochet/base/error.h"
#include "tests/support/forked_child.h"
#include "tests/support/sanitizers.h"

namespace crochet {
namespace {

using testing::ElementsAre;

// Its batches are their indices. Fails for an index, once.
class Indices {
 public:
  explicit Indices(size_t size, size_t bad = 1000) : size_(size), bad_(bad) {}
  std::vector<size_t> get_batch(const std::vector<size_t>& indices) {
    for (const size_t index : indices)
      if (index == bad_) {
        bad_ = 1000;
        throw std::runtime_error("cannot read");
      }
    return indices;
  }
  torch::optional<size_t> size() const { return size_; }

 private:
  size_t size_;
  size_t bad_;
};

std::vector<size_t> next_batches(libtorch::Batches<Indices>& batches, int count) {
  std::vector<size_t> all;
  for (int i = 0; i < count; ++i)
    for (const size_t index : batches.next()) all.push_back(index);
  return all;
}

TEST(BatchesTest, HaveTheOrderOfEpochsWhateverIsReadAhead) {
  Epochs<int> epochs(10, {.batch_size = 3, .seed = 4});
  std::vector<size_t> expected;
  for (int i = 0; i < 9; ++i) {
    const auto batch = epochs.next();
    for (const int64_t place : batch) expected.push_back(static_cast<size_t>(place));
  }
  for (const size_t read_ahead : {0, 1, 2, 7}) {
    libtorch::Batches batches(Indices(10), {.batch_size = 3, .seed = 4}, read_ahead);
    EXPECT_EQ(next_batches(batches, 9), expected) << read_ahead;
  }
}

TEST(BatchesTest, ContinueAtTheBatchThatWasNotTaken) {
  for (int taken = 0; taken <= 9; ++taken) {
    libtorch::Batches whole(Indices(10), {.batch_size = 3, .seed = 4});
    next_batches(whole, taken);
    libtorch::Batches other(Indices(10), {.batch_size = 3, .seed = 8});
    next_batches(other, 2);
    other.restore(whole.save());
    EXPECT_EQ(next_batches(other, 5), next_batches(whole, 5)) << taken;
  }
}

TEST(BatchesTest, HaveARest) {
  libtorch::Batches batches(Indices(7), {.batch_size = 3, .shuffle = false});
  batches.next();
  std::vector<size_t> rest;
  while (batches.completed() < 2)
    for (const std::vector<size_t>& batch : batches.rest_of_epoch())
      rest.insert(rest.end(), batch.begin(), batch.end());
  EXPECT_THAT(rest, ElementsAre(3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6));
}

TEST(BatchesTest, EndAfterTheLastEpoch) {
  libtorch::Batches batches(Indices(4), {.batch_size = 3, .num_epochs = 2});
  EXPECT_EQ(next_batches(batches, 4).size(), 8U);
  EXPECT_THROW(batches.next(), OutOfRangeError);
  EXPECT_THROW(batches.next(), OutOfRangeError);
  EXPECT_EQ(batches.completed(), 2);
}

TEST(BatchesTest, ReadABatchAgainThatCouldNotBeRead) {
  for (const size_t read_ahead : {0, 3}) {
    libtorch::Batches batches(Indices(6, 4), {.batch_size = 2, .shuffle = false}, read_ahead);
    EXPECT_THAT(batches.next(), ElementsAre(0, 1));
    EXPECT_THAT(batches.next(), ElementsAre(2, 3));
    EXPECT_THROW(batches.next(), std::runtime_error);
    EXPECT_THAT(batches.next(), ElementsAre(4, 5));
    EXPECT_THAT(batches.next(), ElementsAre(0, 1));
  }
}

TEST(BatchesTest, BelongToTheProcessThatMadeThem) {
  if (kHasThreadSanitizer)
    GTEST_SKIP() << "ThreadSanitizer has no threads in the child of a process with threads";
  struct Waiting {
    size_t size() const { return 4; }
    std::vector<size_t> get_batch(const std::vector<size_t>& indices) {
      if (indices.front() == 2) {
        is_reading->count_down();
        may_end->wait();
      }
      return indices;
    }
    std::shared_ptr<std::latch> is_reading = std::make_shared<std::latch>(1);
    std::shared_ptr<std::latch> may_end = std::make_shared<std::latch>(1);
  };
  const Waiting waiting;
  auto batches = std::make_unique<libtorch::Batches<Waiting>>(
      waiting, EpochsOptions{.batch_size = 2, .shuffle = false});
  EXPECT_THAT(batches->next(), ElementsAre(0, 1));
  waiting.is_reading->wait();
  EXPECT_EQ(run_in_child([&] {
              try {
                batches->next();
                return 1;
              } catch (const FailedPreconditionError&) {
              }
              batches.reset();
              return 0;
            }),
            0);
  waiting.may_end->count_down();
  EXPECT_THAT(batches->next(), ElementsAre(2, 3));
}

TEST(BatchesTest, TakeDatasetsOfLibTorch) {
  struct Squares : torch::data::Dataset<Squares> {
    torch::data::Example<> get(size_t index) override {
      return {torch::tensor(static_cast<int64_t>(index)),
              torch::tensor(static_cast<int64_t>(index * index))};
    }
    torch::optional<size_t> size() const override { return 6; }
  };
  libtorch::Batches batches(Squares().map(torch::data::transforms::Stack<>()),
                            {.batch_size = 4, .shuffle = false});
  const auto [x, y] = batches.next();
  EXPECT_TRUE(x.equal(torch::arange(4)));
  EXPECT_TRUE(y.equal(torch::arange(4) * torch::arange(4)));
}

}  // namespace
}  // namespace crochet
