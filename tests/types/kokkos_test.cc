// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/kokkos.h"

#include <algorithm>
#include <complex>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "tests/types/types_test.h"

namespace crochet::types {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// Kokkos is initialized while the tests run.
class KokkosEnvironment final : public testing::Environment {
 public:
  void SetUp() override { Kokkos::initialize(); }
  void TearDown() override { Kokkos::finalize(); }
};
testing::Environment* const kokkos = testing::AddGlobalTestEnvironment(new KokkosEnvironment);

class KokkosTest : public TypesTest {};
INSTANTIATE_TEST_SUITE_P(Formats, KokkosTest, formats(), format_name);

template <typename View>
void count(const View& view) {
  for (size_t i = 0; i < view.span(); ++i)
    view.data()[i] = static_cast<typename View::value_type>(i + 1);
}

template <typename View>
bool same(const View& a, const View& b) {
  for (unsigned r = 0; r < 3; ++r)
    if (a.extent(r) != b.extent(r)) return false;
  return std::equal(a.data(), a.data() + a.span(), b.data());
}

TEST_P(KokkosTest, ViewsKeepTheirElements) {
  Kokkos::View<double**, Kokkos::LayoutRight> rows("rows", 2, 3);
  count(rows);
  save(rows);
  EXPECT_EQ(checkpoint().read("it"), Tensor::from<double>({1, 2, 3, 4, 5, 6}, {2, 3}));
  Kokkos::View<double**, Kokkos::LayoutRight> other("other", 2, 3);
  restore(other);
  EXPECT_TRUE(same(other, rows));
}

TEST_P(KokkosTest, AMatrixByColumnsIsAMatrix) {
  Kokkos::View<double**, Kokkos::LayoutLeft> columns("columns", 2, 3);
  count(columns);
  save(columns);
  EXPECT_EQ(checkpoint().read("it"), Tensor::from<double>({1, 3, 5, 2, 4, 6}, {2, 3}));
  Kokkos::View<double**, Kokkos::LayoutLeft> other;
  restore(other);
  EXPECT_TRUE(same(other, columns));
}

TEST_P(KokkosTest, MoreDimensionsByColumnsAreAsTheyLieInMemory) {
  using View = Kokkos::View<float***, Kokkos::LayoutLeft>;
  for (const View& view : {View("view", 2, 3, 4), View("view", 5, 1, 1)}) {
    files_ = MemoryFileSystem();
    count(view);
    View saved = view;
    save(saved);
    const auto sizes = checkpoint().tensors().at("it").shape;
    EXPECT_EQ(sizes,
              Shape({static_cast<int64_t>(view.extent(2)), static_cast<int64_t>(view.extent(1)),
                     static_cast<int64_t>(view.extent(0))}));
    View empty;
    restore(empty);
    EXPECT_TRUE(same(empty, view));
  }
}

TEST_P(KokkosTest, SizesThatTheTypeFixesStay) {
  using View = Kokkos::View<int* [3]>;
  View view("view", 4);
  count(view);
  save(view);
  View empty;
  restore(empty);
  EXPECT_TRUE(same(empty, view));
  Kokkos::View<int* [2]> narrow;
  EXPECT_THAT([&] { restore(narrow); }, ThrowsMessage<Error>(HasSubstr("\"it\"")));
}

TEST_P(KokkosTest, ScalarsAndComplexNumbers) {
  Kokkos::View<double> scalar("scalar");
  scalar() = 7;
  save(scalar);
  Kokkos::View<double> other("other");
  restore(other);
  EXPECT_EQ(other(), 7);
  files_ = MemoryFileSystem();
  Kokkos::View<Kokkos::complex<double>*> waves("waves", 2);
  waves(1) = Kokkos::complex<double>(1, 2);
  save(waves);
  EXPECT_EQ(checkpoint().read("it"), Tensor::from<std::complex<double>>({{0, 0}, {1, 2}}));
}

TEST_P(KokkosTest, AViewIsFollowedToOtherMemory) {
  Kokkos::View<double*> now("now", 3), next("next", 3);
  Loop loop(options());
  loop.track("it", now);
  loop.run([&] {
    next(1) = 5;
    std::swap(now, next);
  });
  EXPECT_EQ(checkpoint().read("it"), Tensor::from<double>({0, 5, 0}));
}

TEST_P(KokkosTest, ContainersOfViewsGrow) {
  std::vector<Kokkos::View<double*>> views = {Kokkos::View<double*>("a", 2),
                                              Kokkos::View<double*>("b", 3)};
  for (const auto& view : views) count(view);
  save(views);
  std::vector<Kokkos::View<double*>> others;
  restore(others);
  ASSERT_EQ(others.size(), 2U);
  EXPECT_TRUE(same(others[0], views[0]));
  EXPECT_TRUE(same(others[1], views[1]));
}

TEST_P(KokkosTest, APartThatIsNotOnePieceIsAnError) {
  Kokkos::View<double**, Kokkos::LayoutRight> whole("whole", 3, 4);
  auto part = Kokkos::subview(whole, Kokkos::ALL(), std::pair(0, 2));
  EXPECT_THAT([&] { save(part); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("not one piece of memory")));
}

TEST_P(KokkosTest, AnotherShapeIsAnError) {
  Kokkos::View<double**> view("view", 2, 3);
  save(view);
  Kokkos::View<double**> other("other", 3, 2);
  EXPECT_THAT([&] { restore(other); }, ThrowsMessage<Error>(HasSubstr("\"it\"")));
}

}  // namespace
}  // namespace crochet::types
