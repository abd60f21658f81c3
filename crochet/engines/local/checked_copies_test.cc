// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Snapshots with checksums: an array that was changed while it was copied is detected and named.
#include "crochet/copies/internal/checked_copies.h"

#include <complex>
#include <cstring>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/engines/local/internal/session.h"

namespace crochet::local {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

template <typename T>
ArrayView shaped_view(std::vector<T>& array, Shape shape,
                      MemoryOrder order = MemoryOrder::kRowMajor) {
  return {dtype_of<T>, std::move(shape), reinterpret_cast<std::byte*>(array.data()), order};
}

TEST(ChecksumTest, DoesNotDependOnTheMemoryOrder) {
  std::vector<float> rows = {0, 1, 2, 3, 4, 5}, columns = {0, 3, 1, 4, 2, 5};
  EXPECT_EQ(crochet::internal::checksum(shaped_view(rows, {2, 3})),
            crochet::internal::checksum(shaped_view(columns, {2, 3}, MemoryOrder::kColumnMajor)));
  EXPECT_NE(crochet::internal::checksum(shaped_view(rows, {2, 3})),
            crochet::internal::checksum(shaped_view(columns, {2, 3})));
}

TEST(ChecksumTest, DependsOnEveryBitAndPosition) {
  std::vector<uint8_t> bytes(64);
  const uint64_t zeros = crochet::internal::checksum(shaped_view(bytes, {64}));
  for (size_t bit = 0; bit < 512; ++bit) {
    bytes[bit / 8] = static_cast<uint8_t>(1U << (bit % 8));
    EXPECT_NE(crochet::internal::checksum(shaped_view(bytes, {64})), zeros) << bit;
    std::vector<std::complex<double>> wide(4);
    std::memcpy(wide.data(), bytes.data(), bytes.size());
    std::vector<std::complex<double>> zero(4);
    EXPECT_NE(crochet::internal::checksum(shaped_view(wide, {4})),
              crochet::internal::checksum(shaped_view(zero, {4})))
        << bit;
    bytes[bit / 8] = 0;
  }
  std::vector<int> a = {1, 2}, b = {2, 1};
  EXPECT_NE(crochet::internal::checksum(shaped_view(a, {2})),
            crochet::internal::checksum(shaped_view(b, {2})));
}

class CheckedSnapshotTest : public testing::Test {
 protected:
  CheckedSnapshotTest() {
    graph_.set_checks_snapshots(true);
    owned_ = graph_.variable("owned", Tensor::zeros<float>({50}));
    borrowed_ =
        graph_.borrow("model/array", {.view = [this] { return shaped_view(array_, {50}); }});
    graph_.variable("text", Tensor::from({"a"}));
    graph_.variable("number", Tensor::scalar(1));
  }

  Snapshot snapshot(crochet::Session& session) { return session.snapshot(graph_.variables()); }

  static void expect_torn(const Snapshot& snapshot, const char* name) {
    snapshot.tensors();
    EXPECT_THAT([&] { snapshot.verify(); },
                ThrowsMessage<FailedPreconditionError>(HasSubstr(name)));
  }

  Graph graph_;
  std::vector<float> array_ = std::vector<float>(50, 1);
  OwnedVariable owned_;
  Variable borrowed_;
};

TEST_F(CheckedSnapshotTest, IsConsistentThoughTrainingContinues) {
  for (const bool in_background : {false, true}) {
    graph_.set_background_copies(in_background);
    const auto update =
        graph_.op(fmt::format("update{}", in_background), {crochet::local::update(owned_)},
                  [this](std::span<float> w) {
                    w[0] += 1;
                    array_[0] += 1;
                  },
                  {.changes_borrowed = true});
    const auto session = graph_.new_session("");
    const Snapshot before = snapshot(*session);
    session->run(update);
    EXPECT_NO_THROW(before.verify());
    EXPECT_NO_THROW(snapshot(*session).verify());
  }
}

TEST_F(CheckedSnapshotTest, NamesAnArrayThatChangedDuringTheCopy) {
  const auto session = graph_.new_session("");
  // Changed after its checksum is taken, just before it is copied.
  int views = 0;
  std::vector<float> other(50, 1);
  const Variable late = graph_.borrow("late", {.view = [&] {
                                        if (++views > 1) array_[7] = 70;
                                        return shaped_view(other, {50});
                                      }});
  EXPECT_NO_THROW(session->snapshot({&borrowed_, 1}).verify());
  const std::vector<Variable> both = {borrowed_, late};
  expect_torn(session->snapshot(both), "\"model/array\"");
}

TEST_F(CheckedSnapshotTest, NamesAVariableWrittenThroughAnOldSpan) {
  std::span<float> kept;
  const auto leak =
      graph_.op("leak", {crochet::local::update(owned_)}, [&](std::span<float> w) { kept = w; });
  const auto session = graph_.new_session("");
  session->run(leak);
  const Snapshot before = snapshot(*session);
  EXPECT_NO_THROW(before.verify());
  kept[3] = 1;
  expect_torn(before, "\"owned\"");
}

TEST_F(CheckedSnapshotTest, CostsNothingUnlessEnabled) {
  graph_.set_checks_snapshots(false);
  const auto session = graph_.new_session("");
  const Snapshot before = snapshot(*session);
  const Tensor copy = before.tensors()[1].tensor;
  const_cast<std::byte*>(copy.bytes().data())[0] = std::byte{9};
  EXPECT_NO_THROW(before.verify());
}

}  // namespace
}  // namespace crochet::local
