// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Snapshots whose arrays are read in place as long as nothing writes to them.
#include <atomic>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "tests/support/forked_child.h"
#include "tests/support/no_threads.h"
#include "tests/support/sanitizers.h"
#include "tests/support/write_barrier_fixture.h"

namespace crochet::local {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::ThrowsMessage;

// One snapshot, of arrays with equal elements, that is not copied.
class ReadInPlaceTest : public WriteBarrierTest {
 protected:
  ReadInPlaceTest() {
    add(kSmall);
    add(kSmall);
    snapshot_ = snapshot();
  }
  bool is_pending(size_t index) const {
    return bool(snapshot_->pending(snapshot_->readable()[index].tensor));
  }

  std::optional<Snapshot> snapshot_;
};

TEST_F(ReadInPlaceTest, ReadsWhatNothingWritesTo) {
  EXPECT_TRUE(is_pending(0));
  EXPECT_TRUE(has_all(read(*snapshot_, 0), 1));
  EXPECT_TRUE(is_pending(0));
  EXPECT_TRUE(has_all(read(*snapshot_, 0), 1)) << "a second time, as for another directory";
}

TEST_F(ReadInPlaceTest, ReadsTheCopyOfWhatIsWrittenTo) {
  const ReadBytes begun = snapshot_->pending(snapshot_->readable()[1].tensor);
  write(arrays_[1], 2);
  EXPECT_FALSE(is_pending(1));
  EXPECT_TRUE(has_all(read(*snapshot_, 1), 1));
  int64_t last = 0;
  begun((kSmall - 1) * sizeof(last), std::as_writable_bytes(std::span(&last, 1)));
  EXPECT_EQ(last, 1);
  gate_.open();  // The other thread has begun to copy the first array.
  EXPECT_TRUE(has_all(read(*snapshot_, 0), 1));
}

TEST_F(ReadInPlaceTest, CopiesNothingOnceTheSnapshotHasEnded) {
  snapshot_.reset();
  EXPECT_FALSE(barrier_->has_pending());
  write(arrays_[0], 2);
  EXPECT_THAT(copied_here_, IsEmpty());
  session().run(step_);
  EXPECT_THAT(barrier_->calls(), ElementsAre("raise", "lower"));
}

TEST_F(ReadInPlaceTest, MakesAWriterWaitForAPieceThatIsBeingRead) {
  const auto reading = std::make_shared<Gate>();
  barrier_->on_copy = [this, reading](const ArrayView&) {
    if (std::this_thread::get_id() == here_) return;
    reading->open();
    gate_.wait();
  };
  std::atomic<bool> has_written = false;
  Tensor found;
  std::thread reader([&] { found = read(*snapshot_, 1); });
  reading->wait();
  std::thread writer([&] {
    write(arrays_[1], 2);
    has_written = true;
  });
  // A writer that did not wait would be likely to be seen here.
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
  EXPECT_FALSE(has_written);
  gate_.open();
  reader.join();
  writer.join();
  EXPECT_TRUE(has_all(found, 1));
}

TEST_F(ReadInPlaceTest, FailsIfAPieceCannotBeRead) {
  barrier_->on_copy = [this](const ArrayView&) {
    if (std::this_thread::get_id() != here_) gate_.wait();
    throw std::runtime_error("the device is lost");
  };
  const auto fails = ThrowsMessage<std::runtime_error>("the device is lost");
  EXPECT_THAT([&] { read(*snapshot_, 1); }, fails);
  write(arrays_[1], 2);
  EXPECT_TRUE(is_pending(1)) << "the copy failed";
  EXPECT_THAT([&] { read(*snapshot_, 1); }, fails);
  gate_.open();  // The other thread has begun to copy the first array.
  EXPECT_THAT([&] { snapshot_->tensors(); }, fails);
  EXPECT_THAT([&] { snapshot_->readable(); }, fails) << "once nothing is being copied any more";
}

TEST_F(ReadInPlaceTest, IsRefusedInAForkedChild) {
  if (kHasThreadSanitizer)
    GTEST_SKIP() << "ThreadSanitizer has no threads in the child of a process with threads";
  EXPECT_EQ(run_in_child([&] {
              try {
                read(*snapshot_, 0);
              } catch (const FailedPreconditionError&) {
                snapshot_.reset();
                return 0;
              }
              return 1;
            }),
            0);
  EXPECT_TRUE(has_all(read(*snapshot_, 0), 1));
}

// Parts of a transposed matrix would be read in another order than its memory's.
TEST_F(WriteBarrierTest, CopiesTransposedMatricesBeforeTheyAreRead) {
  Numbers& matrix = arrays_.emplace_back(kSmall * 2);
  std::iota(matrix.begin(), matrix.end(), 0);
  add_view([&matrix] {
    return ArrayView{DType::kInt64,
                     {kSmall, 2},
                     reinterpret_cast<std::byte*>(matrix.data()),
                     MemoryOrder::kColumnMajor};
  });
  const Snapshot before = snapshot();
  EXPECT_FALSE(before.pending(before.readable()[0].tensor));
  EXPECT_EQ(before.readable()[0].tensor.flat<int64_t>()[1], static_cast<int64_t>(kSmall));
}

// Without threads, what they would copy is copied here at once.
TEST_F(WriteBarrierTest, CopiesFromTheBeginningAfterASaveThatDidNotEndBeforeTheWrites) {
  const NoThreads none;
  Numbers& array = add(kSmall);
  std::optional<Snapshot> held;
  const auto copies_at_once = [&] {
    copied_here_.clear();
    held = snapshot();
    return was_copied_here(array);
  };
  EXPECT_FALSE(copies_at_once());
  write(array, 2);
  EXPECT_TRUE(copies_at_once());
  for (const int64_t value : {3, 4, 5}) {
    write(array, value);
    EXPECT_TRUE(copies_at_once());
  }
  held.reset();
  write(array, 6);
  EXPECT_FALSE(copies_at_once());
  held.reset();
  EXPECT_FALSE(copies_at_once());
}

}  // namespace
}  // namespace crochet::local
