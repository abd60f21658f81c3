// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "batches.h"

#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "adam.h"
#include "crochet/base/error.h"
#include "perceptron.h"
#include "valid_text.h"

namespace digits {
namespace {

using crochet::InvalidArgumentError;
using testing::ThrowsMessage;

// Saves and restores the values that track() lists.
class Copier {
 public:
  enum class Direction { kSave, kRestore };
  explicit Copier(Direction direction, std::map<std::string, std::string>& state)
      : direction_(direction), state_(state) {}

  Copier& operator()(const std::string& name, Weights& weights) {
    prefix_ += name + "/";
    weights.track(*this);
    prefix_.resize(prefix_.size() - name.size() - 1);
    return *this;
  }
  template <typename Derived>
  Copier& operator()(const std::string& name, Eigen::PlainObjectBase<Derived>& matrix) {
    return bytes(name, matrix.data(), sizeof(float) * static_cast<size_t>(matrix.size()));
  }
  Copier& operator()(const std::string& name, std::vector<int32_t>& values) {
    return bytes(name, values.data(), sizeof(int32_t) * values.size());
  }
  Copier& operator()(const std::string& name, int64_t& value) {
    return bytes(name, &value, sizeof(value));
  }
  Copier& operator()(const std::string& name, std::mt19937_64& generator) {
    std::stringstream text(state_[prefix_ + name]);
    if (direction_ == Direction::kRestore)
      text >> generator;
    else
      text << generator;
    state_[prefix_ + name] = text.str();
    return *this;
  }

 private:
  Copier& bytes(const std::string& name, void* data, size_t size) {
    std::string& kept = state_[prefix_ + name];
    if (direction_ == Direction::kSave)
      kept.assign(static_cast<const char*>(data), size);
    else
      kept.copy(static_cast<char*>(data), size);
    return *this;
  }

  Direction direction_;
  std::map<std::string, std::string>& state_;
  std::string prefix_;
};

template <typename T>
void copy_state(T& from, T& to) {
  std::map<std::string, std::string> state;
  Copier save(Copier::Direction::kSave, state);
  from.track(save);
  Copier restore(Copier::Direction::kRestore, state);
  to.track(restore);
}

TEST(BatchesTest, ReturnEverySampleOncePerEpoch) {
  const Dataset data = parse_digits(valid_text(10), "x");
  Batches batches(data, 4, 1);
  std::vector<int> labels;  // Each sample has its own.
  for (int i = 0; i < 5; ++i) {
    const Batch batch = batches.next();
    EXPECT_EQ(batch.images.cols(), 4);
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
  }
  const std::vector<int> first(labels.begin(), labels.begin() + 10);
  const std::vector<int> second(labels.begin() + 10, labels.end());
  EXPECT_THAT(first, testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(second, testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_NE(first, second);
}

TEST(BatchesTest, MayBeLargerThanTheData) {
  const Dataset data = parse_digits(valid_text(10), "x");
  EXPECT_EQ(Batches(data, 25, 1).next().size(), 25);
}

TEST(BatchesTest, ResumeExactly) {
  const Dataset data = parse_digits(valid_text(50), "x");
  Batches stopped(data, 8, 1);
  for (int i = 0; i < 9; ++i) stopped.next();
  Batches resumed(data, 8, 2);
  copy_state(stopped, resumed);
  for (int i = 0; i < 20; ++i) {
    const Batch expected = stopped.next();
    const Batch found = resumed.next();
    EXPECT_EQ(found.labels, expected.labels) << i;
    EXPECT_EQ(found.images, expected.images) << i;
  }
}

TEST(BatchesTest, RejectAnOrderOfOtherData) {
  const Dataset data = parse_digits(valid_text(10), "x");
  Batches batches(data, 4, 1);
  struct Shrink {
    Shrink& operator()(const std::string&, std::vector<int32_t>& order) {
      order.pop_back();
      return *this;
    }
    Shrink& operator()(const std::string&, int64_t&) { return *this; }
    Shrink& operator()(const std::string&, std::mt19937_64&) { return *this; }
  } shrink;
  batches.track(shrink);
  EXPECT_THAT([&] { batches.next(); },
              ThrowsMessage<InvalidArgumentError>(
                  "the checkpoint is of a run with 9 samples, the data has 10"));
}

struct Training {
  explicit Training(const Dataset& data, uint64_t seed)
      : model(kPixels, 16, kClasses, seed), adam(model, 1e-2f), batches(data, 8, seed) {}
  void run(int steps) {
    for (int i = 0; i < steps; ++i) adam.apply(model.gradients(batches.next()));
  }

  Perceptron model;
  Adam adam;
  Batches batches;
};

TEST(TrainingTest, ResumesBitForBit) {
  const Dataset data = parse_digits(valid_text(50), "x");
  Training whole(data, 1);
  whole.run(60);
  Training stopped(data, 1);
  stopped.run(23);
  Training resumed(data, 2);
  copy_state(stopped.model, resumed.model);
  copy_state(stopped.adam, resumed.adam);
  copy_state(stopped.batches, resumed.batches);
  resumed.run(37);
  EXPECT_EQ(resumed.model.w1, whole.model.w1);
  EXPECT_EQ(resumed.model.b1, whole.model.b1);
  EXPECT_EQ(resumed.model.w2, whole.model.w2);
  EXPECT_EQ(resumed.model.b2, whole.model.b2);
}

}  // namespace
}  // namespace digits
