// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Snapshots of arrays whose writers announce what they write.
#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/copies/borrowed_array.h"
#include "crochet/engines/local/internal/graph_state.h"
#include "tests/support/forked_child.h"
#include "tests/support/no_threads.h"
#include "tests/support/sanitizers.h"
#include "tests/support/scheduling.h"
#include "tests/support/write_barrier_fixture.h"

namespace crochet::local {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

TEST_F(WriteBarrierTest, LetsAStepBeginBeforeTheCopiesAreMade) {
  Numbers& array = add(kSmall);
  const Snapshot before = snapshot();
  on_step_ = [&] {
    EXPECT_TRUE(barrier_->has_pending());
    gate_.open();
    write(array, 2);
  };
  session().run(step_);
  EXPECT_EQ(array[0], 2);
  EXPECT_TRUE(has_all(before.tensors()[0].tensor, 1));
  EXPECT_FALSE(barrier_->has_pending());
}

// The other thread is held at the first array, so it is too late for the others.
TEST_F(WriteBarrierTest, MakesAWriterCopyWhatItWritesAndNothingElse) {
  add(kSmall);
  Numbers& large = add(kLarge);
  Numbers& unwritten = add(kSmall);
  Numbers& small = add(kSmall);
  const Snapshot before = snapshot();
  write(large, 2);
  write(small, 2);
  EXPECT_TRUE(was_copied_here(large));
  EXPECT_TRUE(was_copied_here(small));
  EXPECT_FALSE(was_copied_here(unwritten));
  write(large, 3);
  gate_.open();
  for (const NamedTensor& each : before.tensors())
    EXPECT_TRUE(has_all(each.tensor, 1)) << each.name;
}

TEST_F(WriteBarrierTest, LooksOnlyAtTheBytesThatAreWritten) {
  add(kSmall);
  Numbers& array = add(3 * kSmall);
  const Snapshot before = snapshot();
  barrier_->WriteBarrier::before_write(array.data(), array.data());
  barrier_->WriteBarrier::before_write(array.data() - 1, array.data());
  barrier_->WriteBarrier::before_write(array.data() + array.size(),
                                       array.data() + array.size() + 1);
  EXPECT_THAT(copied_here_, IsEmpty());
  barrier_->WriteBarrier::before_write(array.data() + array.size() - 1,
                                       array.data() + array.size());
  EXPECT_TRUE(was_copied_here(array));
  gate_.open();
  before.tensors();
}

// A view of a whole buffer, and of each half.
TEST_F(WriteBarrierTest, CopiesAllArraysThatOverlap) {
  add(kSmall);
  Numbers& buffer = add(2 * kSmall);
  const std::span<int64_t> halves[] = {std::span(buffer).first(kSmall),
                                       std::span(buffer).last(kSmall)};
  for (const std::span<int64_t> half : halves)
    add_view([half] {
      return ArrayView{DType::kInt64,
                       {static_cast<int64_t>(half.size())},
                       reinterpret_cast<std::byte*>(half.data())};
    });
  const Snapshot before = snapshot();
  barrier_->WriteBarrier::before_write(&halves[1].front(), &halves[1].front() + 1);
  std::ranges::fill(halves[1], 2);
  EXPECT_TRUE(copied_here_.contains(reinterpret_cast<std::byte*>(halves[1].data())));
  EXPECT_TRUE(was_copied_here(buffer));  // The first half begins there, too.
  barrier_->WriteBarrier::before_write(&halves[0].front(), &halves[0].front() + 1);
  std::ranges::fill(halves[0], 3);
  gate_.open();
  for (const NamedTensor& each : before.tensors())
    EXPECT_TRUE(has_all(each.tensor, 1)) << each.name;
}

TEST_F(WriteBarrierTest, GuardsManySnapshotsOfSeveralSessions) {
  add(kSmall);
  Numbers& array = add(kSmall);
  const auto other = graph_.new_session("");
  std::vector<Snapshot> all;
  for (int64_t value = 1; value <= 4; ++value) {
    for (crochet::Session* const each : {&session(), other.get()})
      all.push_back(each->snapshot(variables_));
    write(array, value + 1);
  }
  gate_.open();
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_TRUE(has_all(all[i].tensors()[1].tensor, static_cast<int64_t>(i / 2 + 1))) << i;
  EXPECT_THAT(barrier_->calls(), ElementsAre("raise"));
}

TEST_F(WriteBarrierTest, CopiesAnArrayThatIsTwiceInASnapshot) {
  add(kSmall);
  Numbers& array = add(kSmall);
  const std::vector<Variable> variables = {variables_[0], variables_[1], variables_[1]};
  const Snapshot before = session().snapshot(variables);
  write(array, 2);
  gate_.open();
  EXPECT_TRUE(has_all(before.tensors()[1].tensor, 1));
  EXPECT_TRUE(has_all(before.tensors()[2].tensor, 1));
}

TEST_F(WriteBarrierTest, CopiesSmallAndEmptyArraysAtOnce) {
  Numbers& small = add(kSmall - 1);
  Numbers& tiny = add(1);
  add(0);
  const Snapshot before = snapshot();
  std::ranges::fill(small, 2);
  tiny[0] = 2;
  EXPECT_TRUE(has_all(before.tensors()[0].tensor, 1));
  EXPECT_TRUE(has_all(before.tensors()[1].tensor, 1));
  EXPECT_EQ(before.tensors()[2].tensor.num_elements(), 0);
  EXPECT_THAT(barrier_->calls(), IsEmpty());
}

TEST_F(WriteBarrierTest, TransposesMatrices) {
  constexpr int64_t kRows = 900, kColumns = 700;
  add(kSmall);
  Numbers& matrix = arrays_.emplace_back(kRows * kColumns);
  std::iota(matrix.begin(), matrix.end(), 0);
  add_view([&matrix] {
    return ArrayView{DType::kInt64,
                     {kRows, kColumns},
                     reinterpret_cast<std::byte*>(matrix.data()),
                     MemoryOrder::kColumnMajor};
  });
  Tensor expected(DType::kInt64, {kRows, kColumns});
  copy_out(internal::GraphState::of(graph_).variables[1]->array.view(), expected.mutable_bytes());
  const Snapshot before = snapshot();
  write(matrix, 0);
  gate_.open();
  EXPECT_EQ(before.tensors()[1].tensor, expected);
}

// A program that replaces memory instead of writing to it announces nothing.
TEST_F(WriteBarrierTest, KeepsTheMemoryOfAnArrayThatMoves) {
  auto memory = std::make_shared<Numbers>(kSmall, 1);
  add_view([&] { return view_of(*memory); }, [&] { return memory; });
  const std::weak_ptr<Numbers> first = memory;
  const Snapshot before = snapshot();
  memory = std::make_shared<Numbers>(kSmall, 2);
  EXPECT_FALSE(first.expired());
  const Snapshot after = snapshot();
  gate_.open();
  EXPECT_TRUE(has_all(before.tensors()[0].tensor, 1));
  EXPECT_TRUE(first.expired());
  EXPECT_TRUE(has_all(after.tensors()[0].tensor, 2));
  EXPECT_EQ(memory.use_count(), 1);
}

// The copy of a snapshot that is dropped is made last.
TEST_F(WriteBarrierTest, LendsNoMemoryIntoWhichACopyIsBeingMade) {
  auto memory = std::make_shared<Numbers>(kSmall, 1);
  add_view([&] { return view_of(*memory); }, [&] { return memory; });
  const auto copying = std::make_shared<Gate>();
  barrier_->on_copy = [this, copying, first = view_of(*memory).data](const ArrayView& array) {
    if (std::this_thread::get_id() == here_ || array.data != first) return;
    copying->open();
    gate_.wait();
  };
  {
    const Snapshot dropped = copied_snapshot();
    copying->wait();
  }
  memory = std::make_shared<Numbers>(kSmall, 2);
  const Snapshot after = snapshot();
  write(*memory, 3);
  EXPECT_TRUE(has_all(after.tensors()[0].tensor, 2));
  gate_.open();
  session().close();
  EXPECT_TRUE(has_all(after.tensors()[0].tensor, 2));
}

// What the release of an owner waits for, such as a lock, a writer may hold.
TEST_F(WriteBarrierTest, MakesNoWriterWaitForTheReleaseOfAnOwner) {
  Numbers& array = arrays_.emplace_back(kSmall, 1);
  const auto copying = std::make_shared<Gate>();
  barrier_->on_copy = [copying, data = view_of(array).data](const ArrayView& copied) {
    if (copied.data == data) copying->open();
  };
  add_view([&] { return view_of(array); },
           [&] { return std::shared_ptr<const void>(&array, [&](const void*) { gate_.wait(); }); });
  const Snapshot before = copied_snapshot();
  copying->wait();  // By the other thread, which then releases the owner.
  write(array, 2);
  gate_.open();
  EXPECT_TRUE(has_all(before.tensors()[0].tensor, 1));
}

TEST_F(WriteBarrierTest, IsLoweredByARunOfTheThreadThatTookTheSnapshot) {
  add(kSmall);
  for (int i = 0; i < 2; ++i) {
    const Snapshot before = snapshot();
    EXPECT_EQ(barrier_->calls().back(), "raise");
    if (i == 0) session().run(step_);
    EXPECT_EQ(barrier_->calls().back(), "raise") << "while a copy is pending";
    gate_.open();
    before.tensors();
    std::thread([&] { session().run(step_); }).join();
    EXPECT_EQ(barrier_->calls().back(), "raise");
    session().run(step_);
    EXPECT_EQ(barrier_->calls().back(), "lower");
    session().run(step_);
  }
  EXPECT_THAT(barrier_->calls(), ElementsAre("raise", "lower", "raise", "lower"));
  EXPECT_TRUE(barrier_->was_called_here());
}

TEST_F(WriteBarrierTest, StaysRaisedThoughAnotherMayBeLowered) {
  add(kSmall);
  const auto other = std::make_shared<RecordingBarrier>();
  other->on_copy = [](const ArrayView&) {};
  Numbers array(kSmall, 1);
  variables_.push_back(
      graph_.borrow("other", {.view = [&array] { return view_of(array); }, .barrier = other}));
  const Snapshot held = snapshot();
  other->before_write(array);
  session().run(step_);
  EXPECT_THAT(other->calls(), ElementsAre("raise", "lower"));
  EXPECT_THAT(barrier_->calls(), ElementsAre("raise"));
}

TEST_F(WriteBarrierTest, IsNotReliedOnAfterAWriteThatWasNotAnnounced) {
  add(kSmall);
  barrier_->record_unannounced_write();
  const Snapshot copied = snapshot();
  EXPECT_THAT(barrier_->calls(), testing::IsEmpty());
  EXPECT_TRUE(has_all(copied.tensors()[0].tensor, 1));
}

// The array is the middle third of some memory.
TEST_F(WriteBarrierTest, GuardsTheFirstAndTheLastByteOfAnArrayAndNoOther) {
  const NoThreads none;
  Numbers memory(3 * kSmall, 1);
  add_view([&memory] {
    return ArrayView{.dtype = DType::kInt64,
                     .shape = {static_cast<int64_t>(kSmall)},
                     .data = reinterpret_cast<std::byte*>(memory.data() + kSmall)};
  });
  constexpr size_t kThird = kSmall * sizeof(int64_t);
  for (const auto& [place, is_inside] : std::vector<std::pair<size_t, bool>>{
           {kThird - 1, false}, {kThird, true}, {2 * kThird - 1, true}, {2 * kThird, false}}) {
    snapshot();  // It ends without a write, so the next one is not copied from its beginning.
    copied_here_.clear();
    const Snapshot held = snapshot();
    const auto* const byte = reinterpret_cast<const std::byte*>(memory.data()) + place;
    static_cast<WriteBarrier&>(*barrier_).before_write(byte, byte + 1);
    EXPECT_EQ(!copied_here_.empty(), is_inside) << place;
  }
}

TEST_F(WriteBarrierTest, StaysRaisedFromOneSnapshotToTheNext) {
  add(kSmall);
  gate_.open();
  for (int i = 0; i < 5; ++i) snapshot().tensors();
  EXPECT_THAT(barrier_->calls(), ElementsAre("raise"));
  session().close();
  EXPECT_THAT(barrier_->calls(), ElementsAre("raise", "lower"));
}

// The other thread is held at the first array until this thread copies the second one, as it does
// if it waits.
class DrainedBarrierTest : public WriteBarrierTest {
 protected:
  DrainedBarrierTest() {
    barrier_->on_copy = [this](const ArrayView&) {
      if (std::this_thread::get_id() == here_)
        gate_.open();
      else
        gate_.wait();
    };
    add(kSmall);
    add(kSmall);
    before_ = snapshot();
  }

  void expect_copied() {
    EXPECT_FALSE(barrier_->has_pending());
    gate_.open();
    for (const NamedTensor& each : before_.tensors()) EXPECT_TRUE(has_all(each.tensor, 1));
  }

  Snapshot before_;
};

TEST_F(DrainedBarrierTest, IsWaitedForByAnAssignment) {
  const Assignment assignment = {
      variables_[1], Shape{kSmall},
      [](std::span<std::byte> destination) { std::ranges::fill(destination, std::byte{0}); }};
  session().assign({&assignment, 1});
  EXPECT_EQ(arrays_[1], Numbers(kSmall, 0));
  expect_copied();
}

TEST_F(DrainedBarrierTest, IsWaitedForWhenTheSessionIsClosed) {
  session().close();
  EXPECT_THAT(barrier_->calls(), ElementsAre("raise", "lower"));
  expect_copied();
}

TEST_F(DrainedBarrierTest, IsWaitedForWhenTheSessionIsDestroyed) {
  session_.reset();
  EXPECT_THAT(barrier_->calls(), ElementsAre("raise", "lower"));
  EXPECT_FALSE(barrier_->has_pending());
  for (Numbers& array : arrays_) array = {};
  expect_copied();
}

TEST_F(WriteBarrierTest, FailsTheSaveIfACopyFails) {
  Numbers& first = add(kSmall);
  Numbers& second = add(kSmall);
  barrier_->on_copy = [data = view_of(second).data](const ArrayView& array) {
    if (array.data == data) throw std::runtime_error("the device is lost");
  };
  const Snapshot before = snapshot();
  write(second, 2);
  write(first, 2);
  const auto tensors = [&] { before.tensors(); };
  EXPECT_THAT(tensors, ThrowsMessage<std::runtime_error>("the device is lost"));
  EXPECT_THAT(tensors, ThrowsMessage<std::runtime_error>("the device is lost"));
  barrier_->on_copy = [](const ArrayView&) {};
  EXPECT_TRUE(has_all(snapshot().tensors()[1].tensor, 2));
}

TEST_F(WriteBarrierTest, FailsTheSnapshotIfItCannotBeRaised) {
  add(kSmall);
  gate_.open();
  barrier_->on_raise = [] { throw std::runtime_error("no observers"); };
  EXPECT_THAT([&] { snapshot(); }, ThrowsMessage<std::runtime_error>("no observers"));
  EXPECT_FALSE(barrier_->has_pending());
  barrier_->on_raise = [] {};
  EXPECT_TRUE(has_all(snapshot().tensors()[0].tensor, 1));
  EXPECT_THAT(barrier_->calls(), ElementsAre("raise"));
}

TEST_F(WriteBarrierTest, NeedsNoThreads) {
  const NoThreads none;
  Numbers& array = add(kLarge);
  const Snapshot before = snapshot();
  write(array, 2);
  EXPECT_TRUE(was_copied_here(array));
  EXPECT_TRUE(has_all(before.tensors()[0].tensor, 1));
}

TEST_F(WriteBarrierTest, DoesNotMakeAForkedChildWaitForItsParent) {
  if (kHasThreadSanitizer)
    GTEST_SKIP() << "ThreadSanitizer has no threads in the child of a process with threads";
  Numbers& array = add(kSmall);
  const Snapshot before = snapshot();
  EXPECT_EQ(run_in_child([&] {
              write(array, 2);
              if (barrier_->has_pending()) return 1;
              try {
                before.tensors();
                return 2;
              } catch (const FailedPreconditionError&) {
              }
              const Snapshot own = snapshot();
              gate_.open();
              write(array, 3);
              if (!has_all(own.tensors()[0].tensor, 2)) return 3;
              session().run(step_);
              if (barrier_->calls() != std::vector<std::string>{"raise", "lower"}) return 4;
              session_.reset();
              return 0;
            }),
            0);
  EXPECT_TRUE(barrier_->has_pending());
  gate_.open();
  EXPECT_TRUE(has_all(before.tensors()[0].tensor, 1));
}

// Writes the number of the step to all arrays, by any number of threads in any order, and takes a
// snapshot between any two steps.
class GuardedStepsTest : public WriteBarrierTest {
 protected:
  enum class Writer { kAnnounces, kForgets };

  GuardedStepsTest() {
    graph_.set_copy_threads(3);
    graph_.set_checks_snapshots(true);
    barrier_->on_copy = [](const ArrayView&) {};
  }

  void write_all(int64_t step, Writer writer) {
    std::vector<Numbers*> order;
    for (Numbers& array : arrays_) order.push_back(&array);
    std::ranges::shuffle(order, random_);
    // Often one: to start threads takes longer than everything else.
    const size_t num_threads = random_() % 4 == 0 ? 2 + random_() % 2 : 1;
    const auto write_some = [&](size_t thread) {
      for (size_t i = thread; i < order.size(); i += num_threads) {
        if (writer == Writer::kAnnounces) barrier_->before_write(*order[i]);
        std::ranges::fill(*order[i], step);
      }
    };
    std::vector<std::thread> others;
    for (size_t i = 1; i < num_threads; ++i) others.emplace_back(write_some, i);
    write_some(0);
    for (std::thread& other : others) other.join();
  }

  // Throws: what Snapshot::verify() throws.
  void check(const Snapshot& snapshot, int64_t step) {
    snapshot.verify();
    for (const NamedTensor& each : snapshot.tensors())
      ASSERT_TRUE(has_all(each.tensor, step)) << each.name << " at step " << step;
  }

  // Another thread reads each snapshot while the next steps run.
  void run_steps_beside_a_reader(int64_t num_steps) {
    std::thread reader;
    int64_t step = 1;
    on_step_ = [&] { write_all(step + 1, Writer::kAnnounces); };
    for (; step <= num_steps; ++step) {
      if (step % 3 == 1) {
        if (reader.joinable()) reader.join();
        reader = std::thread([this, step, held = snapshot()] {
          for (size_t i = 0; i < arrays_.size(); ++i)
            EXPECT_TRUE(has_all(read(held, i), step)) << i << " at step " << step;
        });
      }
      session().run(step_);
    }
    reader.join();
  }

  // Holds up to two snapshots beside the latest one.
  void run_steps(int64_t num_steps) {
    std::deque<Snapshot> held;
    int64_t step = 1;
    on_step_ = [&] { write_all(step + 1, Writer::kAnnounces); };
    for (; step <= num_steps; ++step) {
      held.push_back(snapshot());
      session().run(step_);
      if (held.size() < 3) continue;
      ASSERT_NO_THROW(check(held.front(), step - 2)) << "step " << step;
      held.pop_front();
    }
  }

  std::mt19937 random_{17};
};

TEST_F(GuardedStepsTest, TearNoSnapshot) {
  const ScopedSchedulingHook hook([]() noexcept {
    thread_local int count = 0;
    if (++count % 16 == 0) std::this_thread::yield();
  });
  for (const size_t size : {1024, 1100, 1300}) add(size);
  run_steps(kHasThreadSanitizer ? 1'000 : 20'000);
  EXPECT_TRUE(barrier_->was_called_here());
}

TEST_F(GuardedStepsTest, TearNoSnapshotThatIsReadMeanwhile) {
  const ScopedSchedulingHook hook([]() noexcept {
    thread_local int count = 0;
    if (++count % 4 == 0) std::this_thread::yield();
  });
  graph_.set_checks_snapshots(false);
  for (const size_t size : {1024, 3000, 1100, 40'000}) add(size);
  run_steps_beside_a_reader(kHasThreadSanitizer ? 300 : 3'000);
}

TEST_F(GuardedStepsTest, TearNoSnapshotOfLargeArrays) {
  for (const size_t size : {700'000, 300'000, 2000, 900'000}) add(size);
  run_steps(20);
}

// So the tests above can fail. The copies are made after the step.
TEST_F(GuardedStepsTest, AreFoundTornWithoutAnnouncements) {
  const auto has_written = std::make_shared<std::atomic<bool>>(false);
  barrier_->on_copy = [has_written](const ArrayView&) { has_written->wait(false); };
  for (const size_t size : {1024, 1100}) add(size);
  for (int64_t step = 1; step <= 20; ++step) {
    *has_written = false;
    const Snapshot before = snapshot();
    write_all(step + 1, Writer::kForgets);
    *has_written = true;
    has_written->notify_all();
    EXPECT_THAT([&] { check(before, step); },
                ThrowsMessage<FailedPreconditionError>(
                    HasSubstr("\"0\" was changed while a snapshot of it was being taken: a value "
                              "with a write barrier")));
  }
}

}  // namespace
}  // namespace crochet::local
