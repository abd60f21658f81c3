// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <deque>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/engines/local/internal/session.h"
#include "tests/support/local_variables.h"

namespace crochet::local {
namespace {

constexpr int64_t kArraySize = 20'000;

bool all_are(const Tensor& tensor, int64_t value) {
  return tensor.num_elements() > 0 &&
         std::ranges::all_of(tensor.flat<int64_t>(), [=](int64_t x) { return x == value; });
}

// An array whose elements are all the number of the step, and an operation that makes a step.
class BackgroundCopiesTest : public testing::Test {
 protected:
  BackgroundCopiesTest() {
    graph_.set_background_copies(true);
    variable_ = graph_.borrow("array", {.view = [this] { return view_of(array_); }});
    update_ =
        graph_.add({.name = "update", .changes_borrowed = true, .kernel = [this](KernelContext&) {
                      for (int64_t& x : array_) ++x;
                    }});
    session_ = graph_.new_session("");
  }

  Snapshot snapshot() { return session_->snapshot({&variable_, 1}); }

  void assign(int64_t value) {
    const Assignment assignment = {
        variable_, Shape{kArraySize}, [value](std::span<std::byte> destination) {
          for (int64_t i = 0; i < kArraySize; ++i)
            std::memcpy(destination.data() + i * 8, &value, sizeof(value));
        }};
    session_->assign({&assignment, 1});
  }

  Graph graph_;
  std::vector<int64_t> array_ = std::vector<int64_t>(kArraySize, 0);
  Variable variable_;
  Operation update_;
  std::unique_ptr<crochet::Session> session_;
};

TEST_F(BackgroundCopiesTest, HoldOneStepThoughTrainingContinues) {
  std::deque<Snapshot> held;
  for (int64_t step = 0; step < 300; ++step) {
    held.push_back(snapshot());
    session_->run(update_);
    if (held.size() < 3) continue;
    ASSERT_TRUE(all_are(held.front().tensors()[0].tensor, step - 2)) << "step " << step;
    held.pop_front();
  }
}

TEST_F(BackgroundCopiesTest, HoldOneStepWhileAnotherThreadReadsThem) {
  for (int64_t step = 0; step < 100; ++step) {
    std::thread reader([snapshot = snapshot(), step] {
      EXPECT_TRUE(all_are(snapshot.tensors()[0].tensor, step)) << "step " << step;
    });
    session_->run(update_);
    reader.join();
  }
}

TEST_F(BackgroundCopiesTest, AreMadeBeforeARestore) {
  const Snapshot before = snapshot();
  assign(70);
  EXPECT_TRUE(all_are(before.tensors()[0].tensor, 0));
  EXPECT_TRUE(all_are(snapshot().tensors()[0].tensor, 70));
}

TEST_F(BackgroundCopiesTest, AreMadeBeforeTheSessionIsClosed) {
  const Snapshot before = snapshot();
  session_->close();
  std::ranges::fill(array_, 70);
  EXPECT_TRUE(all_are(before.tensors()[0].tensor, 0));
}

TEST_F(BackgroundCopiesTest, OutliveTheSession) {
  const Snapshot before = snapshot();
  session_.reset();
  array_.clear();
  array_.shrink_to_fit();
  EXPECT_TRUE(all_are(before.tensors()[0].tensor, 0));
}

TEST_F(BackgroundCopiesTest, AreTransposed) {
  std::vector<int64_t> matrix(6);
  for (int64_t i = 0; i < 6; ++i) matrix[static_cast<size_t>(i)] = i;
  const Variable variable =
      graph_.borrow("matrix", {.view = [&] {
                      return ArrayView{DType::kInt64,
                                       {2, 3},
                                       reinterpret_cast<std::byte*>(matrix.data()),
                                       MemoryOrder::kColumnMajor};
                    }});
  const Snapshot snapshot = session_->snapshot({&variable, 1});
  EXPECT_EQ(snapshot.tensors()[0].tensor, Tensor::from<int64_t>({0, 2, 4, 1, 3, 5}, {2, 3}));
}

TEST_F(BackgroundCopiesTest, AreNotUsedForResizableOrTinyArrays) {
  std::vector<int64_t> growing(1000, 5);
  std::vector<int64_t> tiny(2, 5);
  const std::vector<Variable> variables = {
      graph_.borrow("growing",
                    {.view = [&] { return view_of(growing); }, .resize = [](const Shape&) {}}),
      graph_.borrow("tiny", {.view = [&] { return view_of(tiny); }})};
  const Snapshot before = session_->snapshot(variables);
  growing.clear();
  growing.shrink_to_fit();
  tiny = {6, 6};
  EXPECT_TRUE(all_are(before.tensors()[0].tensor, 5));
  EXPECT_TRUE(all_are(before.tensors()[1].tensor, 5));
}

// New copies reuse the memory of earlier snapshots, except those that are still held.
TEST_F(BackgroundCopiesTest, ReuseMemoryThatNobodyHolds) {
  std::set<const void*> places;
  Snapshot held;
  for (int64_t step = 0; step < 20; ++step) {
    Snapshot next = snapshot();
    session_->run(update_);
    if (step > 0) {
      ASSERT_TRUE(all_are(held.tensors()[0].tensor, step - 1));
    }
    held = std::move(next);
    places.insert(held.tensors()[0].tensor.bytes().data());
  }
  EXPECT_EQ(places.size(), 2U);
}

}  // namespace
}  // namespace crochet::local
