// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Which arrays with a barrier are the same in two snapshots.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/testing/allocation_counter.h"
#include "tests/support/write_barrier_fixture.h"

namespace crochet::local {
namespace {

using testing::ElementsAre;

class UnwrittenInSnapshotsTest : public WriteBarrierTest {
 protected:
  UnwrittenInSnapshotsTest() { gate_.open(); }

  Numbers& add_identified(size_t size) {
    Numbers& array = arrays_.emplace_back(size, 1);
    variables_.push_back(graph_.borrow(std::to_string(variables_.size()),
                                       {.view = [&array] { return view_of(array); },
                                        .barrier = barrier_,
                                        .identity = [this] { return identity_; }}));
    return array;
  }
  // The versions of all arrays in a snapshot that ends at once.
  std::vector<uint64_t> versions() {
    const Snapshot snapshot = this->snapshot();
    std::vector<uint64_t> result;
    for (const NamedTensor& each : snapshot.readable())
      result.push_back(snapshot.version_of(each.tensor));
    return result;
  }

  std::shared_ptr<const void> identity_ = std::make_shared<int>();
};

TEST_F(UnwrittenInSnapshotsTest, KeepTheirVersions) {
  add_identified(kSmall);
  Numbers& written = add_identified(kSmall);
  const std::vector<uint64_t> first = versions();
  write(written, 2);
  const std::vector<uint64_t> second = versions();
  EXPECT_NE(first[0], 0);
  EXPECT_NE(first[0], first[1]);
  EXPECT_EQ(second[0], first[0]);
  EXPECT_NE(second[1], first[1]);
  EXPECT_EQ(versions(), second);
}

TEST_F(UnwrittenInSnapshotsTest, AreWatchedBetweenSnapshotsIfTheyAreMany) {
  add_identified(kSmall);
  Numbers& written = add_identified(kSmall);
  const std::vector<uint64_t> first = versions();
  session().run(step_);
  EXPECT_THAT(barrier_->calls(), ElementsAre("raise"));
  write(written, 2);
  session().run(step_);
  EXPECT_THAT(barrier_->calls(), ElementsAre("raise"));
  EXPECT_EQ(versions()[0], first[0]);
  write(arrays_.front(), 2);
  write(written, 3);
  session().run(step_);
  EXPECT_THAT(barrier_->calls(), ElementsAre("raise", "lower"));
}

TEST_F(UnwrittenInSnapshotsTest, CostNoAllocationInAStep) {
  add_identified(kSmall);
  versions();
  const Output step = step_;
  Tensor result;
  const auto run = [&] { session().run_into({&step, 1}, {}, {&result, 1}, {}, nullptr); };
  for (int i = 0; i < 3; ++i) run();
  const AllocationCounter allocations;
  run();
  EXPECT_EQ(allocations.count(), 0);
  EXPECT_THAT(barrier_->calls(), ElementsAre("raise"));
}

TEST_F(UnwrittenInSnapshotsTest, AreNotWatchedIfTheyAreFew) {
  add_identified(kSmall);
  Numbers& written = add_identified(4 * kSmall);
  const std::vector<uint64_t> first = versions();
  write(written, 2);
  session().run(step_);
  EXPECT_THAT(barrier_->calls(), ElementsAre("raise", "lower"));
  EXPECT_NE(versions()[0], first[0]);
}

// A restore writes without an announcement.
TEST_F(UnwrittenInSnapshotsTest, AreOthersAfterARestore) {
  add_identified(kSmall);
  const std::vector<uint64_t> first = versions();
  const Assignment restored{.variable = variables_[0],
                            .shape = {static_cast<int64_t>(kSmall)},
                            .fill = [](std::span<std::byte>) {}};
  session().assign({&restored, 1});
  EXPECT_NE(versions(), first);
}

TEST_F(UnwrittenInSnapshotsTest, NeedAnIdentity) {
  add(kSmall);
  EXPECT_NE(versions(), versions());
  session().run(step_);
  EXPECT_THAT(barrier_->calls(), ElementsAre("raise", "lower"));
}

TEST_F(UnwrittenInSnapshotsTest, AreOthersInMemoryThatWasFreed) {
  add_identified(kSmall);
  const std::vector<uint64_t> first = versions();
  identity_ = std::make_shared<int>();
  EXPECT_NE(versions(), first);
}

}  // namespace
}  // namespace crochet::local
