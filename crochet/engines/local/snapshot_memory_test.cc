// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The memory of snapshots: one state in addition to that of training, however many are
// taken, if each is released before the next.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "crochet/engines/local/graph.h"
#include "crochet/session/session.h"

namespace crochet::local {
namespace {

constexpr int kSaves = 1000;
constexpr size_t kNumFloats = 1000;
constexpr size_t kStateBytes = 3 * kNumFloats * sizeof(float);

enum class Kind { kReplace, kUpdate, kBorrowed, kBorrowedInBackground };

class SnapshotMemoryTest : public testing::TestWithParam<Kind> {
 protected:
  SnapshotMemoryTest() {
    graph_.set_background_copies(GetParam() == Kind::kBorrowedInBackground);
    for (size_t i = 0; i < arrays_.size(); ++i) changes_.push_back(add_variable(i));
    session_ = graph_.new_session("");
  }

  Output add_variable(size_t i) {
    using In = std::span<const float>;
    using Out = std::span<float>;
    const std::string name = fmt::format("v{}", i);
    if (GetParam() == Kind::kReplace || GetParam() == Kind::kUpdate) {
      const auto w =
          graph_.variable(name, Tensor::zeros<float>({static_cast<int64_t>(kNumFloats)}));
      if (GetParam() == Kind::kReplace)
        return graph_.op("change" + name, {replace(w)},
                         [](In old, Out next) { next[0] = old[0] + 1; });
      return graph_.op("change" + name, {update(w)}, [](Out x) { x[0] += 1; });
    }
    std::vector<float>& array = arrays_[i];
    array.resize(kNumFloats);
    graph_.borrow(name, {.view = [&array] {
                    return ArrayView{DType::kFloat,
                                     {static_cast<int64_t>(array.size())},
                                     reinterpret_cast<std::byte*>(array.data())};
                  }});
    return graph_.op("change" + name, [&array] { array[0] += 1; }, {.changes_borrowed = true});
  }

  void make_step() {
    for (const Output& change : changes_) session_->run(change);
  }

  Graph graph_;
  std::array<std::vector<float>, 3> arrays_;
  std::vector<Output> changes_;
  std::unique_ptr<crochet::Session> session_;
};

TEST_P(SnapshotMemoryTest, IsOneStateHoweverManyAreTaken) {
  for (int i = 0; i < 3; ++i) make_step();
  reset_peak_buffer_usage();
  const size_t before = buffer_usage().num_bytes;
  const std::vector<Variable> variables = graph_.variables();
  Snapshot held;
  for (int save = 0; save < kSaves; ++save) {
    held = Snapshot();  // Written.
    held = session_->snapshot(variables);
    for (int i = 0; i < 2; ++i) make_step();
    ASSERT_EQ(held.tensors()[2].tensor.flat<float>()[0], static_cast<float>(3 + 2 * save));
  }
  EXPECT_EQ(buffer_usage().peak_num_bytes, before + kStateBytes);
}

// Saves that overlap, as with kNewestWins: one is written, one waits, one replaces it.
TEST_P(SnapshotMemoryTest, IsBoundedIfSavesOverlap) {
  for (int i = 0; i < 3; ++i) make_step();
  const std::vector<Variable> variables = graph_.variables();
  size_t peak = 0;
  for (int save = 0; save < kSaves / 10; ++save) {
    Snapshot written = session_->snapshot(variables);
    for (int i = 0; i < 3; ++i) {
      make_step();
      const Snapshot waiting = session_->snapshot(variables);
      make_step();
    }
    if (save == 10) {
      reset_peak_buffer_usage();
      peak = buffer_usage().num_bytes;
    }
  }
  EXPECT_EQ(buffer_usage().peak_num_bytes, peak);
}

INSTANTIATE_TEST_SUITE_P(AllKinds, SnapshotMemoryTest,
                         testing::Values(Kind::kReplace, Kind::kUpdate, Kind::kBorrowed,
                                         Kind::kBorrowedInBackground));

}  // namespace
}  // namespace crochet::local
