// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// With CROCHET_MDSPAN_INCLUDES, of the reference implementation; otherwise of a stand-in with the
// members of the standard's that crochet/mdspan.h uses.
#include "crochet/mdspan.h"

#include <array>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "tests/types/types_test.h"

#ifdef CROCHET_HAS_MDSPAN
#include <mdspan/mdspan.hpp>
namespace md = Kokkos;
#else
#include "tests/types/mdspan_stand_in.h"
#endif

namespace crochet::types {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class MdspanTest : public TypesTest {};
INSTANTIATE_TEST_SUITE_P(Formats, MdspanTest, formats(), format_name);

template <typename E, size_t kRank, typename Layout = md::layout_right>
using Span = md::mdspan<E, md::dextents<int, kRank>, Layout>;

std::vector<double> counted(size_t count) {
  std::vector<double> values(count);
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST_P(MdspanTest, ElementsStayWhereTheyAre) {
  std::vector<double> values = counted(6);
  Span<double, 2> span(values.data(), 2, 3);
  save(span);
  EXPECT_EQ(checkpoint().read("it"), Tensor::from<double>({1, 2, 3, 4, 5, 6}, {2, 3}));
  std::vector<double> others(6);
  Span<double, 2> other(others.data(), 2, 3);
  restore(other);
  EXPECT_EQ(others, values);
}

TEST_P(MdspanTest, AMatrixByColumnsIsAMatrix) {
  std::vector<double> values = counted(6);
  Span<double, 2, md::layout_left> span(values.data(), 2, 3);
  save(span);
  EXPECT_EQ(checkpoint().read("it"), Tensor::from<double>({1, 3, 5, 2, 4, 6}, {2, 3}));
  std::vector<double> others(6);
  Span<double, 2> by_rows(others.data(), 2, 3);  // The layout is not a part of the state.
  restore(by_rows);
  EXPECT_EQ(others, (std::vector<double>{1, 3, 5, 2, 4, 6}));
}

TEST_P(MdspanTest, MoreDimensionsByColumnsAreAsTheyLieInMemory) {
  std::vector<double> values = counted(24);
  Span<double, 3, md::layout_left> span(values.data(), 2, 3, 4);
  save(span);
  EXPECT_EQ(checkpoint().tensors().at("it").shape, Shape({4, 3, 2}));
  std::vector<double> others(24);
  Span<double, 3, md::layout_left> other(others.data(), 2, 3, 4);
  restore(other);
  EXPECT_EQ(others, values);
}

TEST_P(MdspanTest, AnEmptyOneIsSaved) {
  Span<double, 2> span(nullptr, 0, 3);
  save(span);
  EXPECT_EQ(checkpoint().tensors().at("it").shape, Shape({0, 3}));
  restore(span);
}

TEST_P(MdspanTest, APartThatIsNotOnePieceIsAnError) {
  std::vector<double> values = counted(12);
  using Mapping = md::layout_stride::mapping<md::dextents<int, 2>>;
  const Mapping dense(md::dextents<int, 2>(3, 4), std::array<int, 2>{4, 1});
  md::mdspan<double, md::dextents<int, 2>, md::layout_stride> whole(values.data(), dense);
  save(whole);
  EXPECT_EQ(checkpoint().tensors().at("it").shape, Shape({3, 4}));
  const Mapping apart(md::dextents<int, 2>(3, 2), std::array<int, 2>{4, 1});
  md::mdspan<double, md::dextents<int, 2>, md::layout_stride> part(values.data(), apart);
  EXPECT_THAT([&] { save(part); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("not one piece of memory")));
}

TEST_P(MdspanTest, AnotherShapeIsAnError) {
  std::vector<double> values = counted(6);
  Span<double, 2> span(values.data(), 2, 3);
  save(span);
  Span<double, 2> other(values.data(), 3, 2);
  EXPECT_THAT([&] { restore(other); }, ThrowsMessage<Error>(HasSubstr("\"it\"")));
}

}  // namespace
}  // namespace crochet::types
