// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/xtensor.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "tests/types/types_test.h"

namespace crochet::types {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class XtensorTest : public TypesTest {};
INSTANTIATE_TEST_SUITE_P(Formats, XtensorTest, formats(), format_name);

struct Simulation {
  xt::xarray<double> field;
  xt::xtensor<float, 3> velocity;
  xt::xtensor_fixed<int, xt::xshape<2, 2>> counts;
  std::map<std::string, xt::xarray<double>> probes;
};

TEST_P(XtensorTest, ArraysKeepTheirElements) {
  Simulation simulation{.field = {{1, 2, 3}, {4, 5, 6}},
                        .velocity = xt::ones<float>({2, 3, 4}),
                        .counts = {{1, 2}, {3, 4}},
                        .probes = {{"a", {7, 8}}, {"b", xt::xarray<double>::from_shape({0})}}};
  simulation.velocity(1, 2, 3) = 9;
  save(simulation);
  EXPECT_EQ(checkpoint().read("it/field"), Tensor::from<double>({1, 2, 3, 4, 5, 6}, {2, 3}));
  Simulation other{.field = xt::zeros<double>({2, 3}),
                   .velocity = xt::zeros<float>({2, 3, 4}),
                   .counts = {{0, 0}, {0, 0}},
                   .probes = {{"other", {1, 2, 3}}}};
  restore(other);
  EXPECT_EQ(other.field, simulation.field);
  EXPECT_EQ(other.velocity, simulation.velocity);
  EXPECT_EQ(other.counts, simulation.counts);
  EXPECT_EQ(other.probes, simulation.probes);
}

TEST_P(XtensorTest, AnArrayWithoutAShapeTakesThatOfTheCheckpoint) {
  std::vector<xt::xarray<double>> fields = {{{1, 2}, {3, 4}}, {5, 6, 7}};
  save(fields);
  std::vector<xt::xarray<double>> others(1);
  restore(others);
  EXPECT_EQ(others, fields);
}

TEST_P(XtensorTest, AScalarIsOne) {
  xt::xarray<double> scalar = 8;
  save(scalar);
  xt::xarray<double> one;
  restore(one);
  EXPECT_EQ(one, scalar);
}

TEST_P(XtensorTest, OneOfAFixedRankWithoutElementsTakesTheSizesOfTheCheckpoint) {
  xt::xtensor<double, 2> field = {{1, 2, 3}, {4, 5, 6}};
  save(field);
  xt::xtensor<double, 2> other;
  restore(other);
  EXPECT_EQ(other, field);
}

TEST_P(XtensorTest, AnotherShapeIsAnError) {
  xt::xarray<double> field = {{1, 2, 3}, {4, 5, 6}};
  save(field);
  xt::xarray<double> other = xt::zeros<double>({3, 2});
  EXPECT_THAT([&] { restore(other); }, ThrowsMessage<Error>(HasSubstr("\"it\"")));
  EXPECT_EQ(other(2, 1), 0);
}

}  // namespace
}  // namespace crochet::types
