// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Forks while other threads use a session.
#include <latch>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/process_bound.h"
#include "crochet/copies/internal/parallel_copier.h"
#include "crochet/engines/local/graph.h"
#include "crochet/session/session.h"
#include "tests/support/forked_child.h"
#include "tests/support/no_threads.h"
#include "tests/support/sanitizers.h"

namespace crochet::local {
namespace {

// More than one piece, so that several threads copy it.
constexpr size_t kLarge = size_t{1} << 20;

class ForkedSessionTest : public testing::Test {
 protected:
  ForkedSessionTest() {
    const auto x = graph_.variable("x", Tensor::zeros<int64_t>({kLarge}));
    add_ = graph_.op("add", {update(x)}, [](std::span<int64_t> values) {
      for (int64_t& value : values) ++value;
    });
    graph_.op("first", {x}, [](std::span<const int64_t> values) { return values.front(); });
    block_ = graph_.op("block", [this] {
      blocked_.count_down();
      may_end_.wait();
    });
    session_ = graph_.new_session("");
  }

  int64_t first() { return session_->run("first").tensor().scalar<int64_t>(); }

  std::latch blocked_{1};
  std::latch may_end_{1};
  Graph graph_;
  Operation add_, block_;
  std::unique_ptr<crochet::Session> session_;
};

TEST_F(ForkedSessionTest, AChildRunsDuringARunOfItsParent) {
  session_->run(add_);
  std::thread other([this] { session_->run(block_); });
  blocked_.wait();
  EXPECT_EQ(run_in_child([&] {
              session_->run(add_);
              if (first() != 2) return 1;
              session_.reset();
              return 0;
            }),
            0);
  may_end_.count_down();
  other.join();
  EXPECT_EQ(first(), 1);
}

TEST_F(ForkedSessionTest, AChildChangesAValueThatItsParentHoldsInASnapshot) {
  if (kHasThreadSanitizer)
    GTEST_SKIP() << "ThreadSanitizer has no threads in the child of a process with threads";
  const Snapshot snapshot = session_->snapshot(graph_.variables());
  session_->run(add_);  // Uses the copier's threads and spare memory.
  EXPECT_EQ(run_in_child([&] {
              const Snapshot own = session_->snapshot(graph_.variables());
              session_->run(add_);
              if (first() != 2 || own.tensors()[0].tensor.flat<int64_t>()[0] != 1) return 1;
              session_.reset();
              return 0;
            }),
            0);
  EXPECT_EQ(snapshot.tensors()[0].tensor.flat<int64_t>()[0], 0);
}

// Copies that block until the latch opens.
class HeldCopy {
 public:
  explicit HeldCopy(crochet::internal::ParallelCopier& copier) {
    const auto wait = [](void* latch) noexcept { static_cast<std::latch*>(latch)->wait(); };
    std::vector<Tensor> holders;
    holders.push_back(Tensor::from_buffer(DType::kUint8, {sizeof(held_)},
                                          Buffer::borrow(held_, wait, &may_end_)));
    pending = copier.copy_in_background({{{DType::kUint8, {sizeof(held_)}, held_}, copied_}},
                                        std::move(holders));
  }
  ~HeldCopy() { end(); }
  void end() {
    if (!may_end_.try_wait()) may_end_.count_down();
  }

  std::shared_ptr<PendingCopies> pending;

 private:
  std::latch may_end_{1};
  alignas(64) std::byte held_[4096] = {};
  std::byte copied_[4096];
};

TEST_F(ForkedSessionTest, AChildDoesNotWaitForItsParentsCopies) {
  std::optional<crochet::internal::PerProcess<crochet::internal::ParallelCopier>> copier;
  copier.emplace();
  HeldCopy copy(**copier);
  EXPECT_EQ(run_in_child([&] {
              try {
                copy.pending->wait();
                return 1;
              } catch (const FailedPreconditionError&) {
              }
              (*copier)->drain();
              copier.reset();
              return 0;
            }),
            0);
  copy.end();
  EXPECT_NO_THROW(copy.pending->wait());
}

TEST_F(ForkedSessionTest, NeedsNoThreads) {
  const NoThreads none;
  for (int64_t i = 1; i <= 3; ++i) {
    const Snapshot snapshot = session_->snapshot(graph_.variables());
    session_->run(add_);
    EXPECT_EQ(first(), i);
    EXPECT_EQ(snapshot.tensors()[0].tensor.flat<int64_t>()[0], i - 1);
  }
}

TEST_F(ForkedSessionTest, AChildRunsDuringARepeatedRunOfItsParent) {
  int runs = 0;
  const Operation blocks_third = graph_.op(
      "blocks_third", {update(graph_.variable("y", Tensor::scalar<int64_t>(0)))}, [&](int64_t& y) {
        ++y;
        if (++runs != 3) return;
        blocked_.count_down();
        may_end_.wait();
      });
  const auto session = graph_.new_session("");
  for (int i = 0; i < 2; ++i) session->run(blocks_third);
  std::thread other([&] { session->run(blocks_third); });
  blocked_.wait();
  EXPECT_EQ(run_in_child([&] {
              session->run(blocks_third);
              session->run(blocks_third);
              return runs == 5 ? 0 : 1;
            }),
            0);
  may_end_.count_down();
  other.join();
  EXPECT_EQ(runs, 3);
}

}  // namespace
}  // namespace crochet::local
