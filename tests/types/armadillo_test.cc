// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/armadillo.h"

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

class ArmadilloTest : public TypesTest {};
INSTANTIATE_TEST_SUITE_P(Formats, ArmadilloTest, formats(), format_name);

bool same(const arma::mat& a, const arma::mat& b) { return arma::approx_equal(a, b, "absdiff", 0); }

// A program that names crochet nowhere in its types.
struct Filter {
  arma::vec state;
  arma::mat covariance;
  arma::cube history;
  arma::rowvec gains;
  std::map<std::string, arma::mat> named;
  std::vector<arma::cx_mat> spectra;
};

TEST_P(ArmadilloTest, ArraysKeepTheirElements) {
  Filter filter;
  filter.state = {1, 2, 3};
  filter.covariance = {{1, 2, 3}, {4, 5, 6}};
  filter.history = arma::cube(2, 3, 4);
  filter.history.imbue([n = 0]() mutable { return n++; });
  filter.gains = {7, 8};
  filter.named["q"] = {{9, 10}};
  filter.spectra = {arma::cx_mat(2, 2, arma::fill::eye), arma::cx_mat()};
  save(filter);
  EXPECT_EQ(checkpoint().read("it/covariance"), Tensor::from<double>({1, 2, 3, 4, 5, 6}, {2, 3}));
  EXPECT_EQ(checkpoint().tensors().at("it/history").shape, (Shape{4, 3, 2}));
  EXPECT_EQ(checkpoint().tensors().at("it/state").shape, Shape{3});

  Filter other{.state = arma::vec(3),
               .covariance = arma::mat(2, 3),
               .history = arma::cube(2, 3, 4),
               .gains = arma::rowvec(2),
               .named = {{"other", arma::mat(5, 5)}},
               .spectra = std::vector<arma::cx_mat>(1)};
  restore(other);
  EXPECT_TRUE(same(other.state, filter.state));
  EXPECT_TRUE(same(other.covariance, filter.covariance));
  EXPECT_TRUE(arma::approx_equal(other.history, filter.history, "absdiff", 0));
  EXPECT_TRUE(same(other.gains, filter.gains));
  ASSERT_EQ(other.named.size(), 1U);
  EXPECT_TRUE(same(other.named.at("q"), filter.named.at("q")));
  ASSERT_EQ(other.spectra.size(), 2U);
  EXPECT_TRUE(arma::approx_equal(other.spectra[0], filter.spectra[0], "absdiff", 0));
  EXPECT_TRUE(other.spectra[1].is_empty());
}

TEST_P(ArmadilloTest, FixedOnesToo) {
  arma::mat::fixed<2, 2> matrix = {{1, 2}, {3, 4}};
  save(matrix);
  arma::mat::fixed<2, 2> other;
  restore(other);
  EXPECT_TRUE(same(other, matrix));
}

TEST_P(ArmadilloTest, EmptyOnesTakeTheSizesOfTheCheckpoint) {
  Filter filter{.state = arma::vec(3, arma::fill::ones),
                .covariance = {{1, 2, 3}, {4, 5, 6}},
                .history = arma::cube(2, 3, 4, arma::fill::randu),
                .gains = {7, 8},
                .named = {},
                .spectra = {}};
  save(filter);
  Filter other;
  restore(other);
  EXPECT_TRUE(same(other.state, filter.state));
  EXPECT_TRUE(same(other.covariance, filter.covariance));
  EXPECT_TRUE(arma::approx_equal(other.history, filter.history, "absdiff", 0));
  EXPECT_TRUE(same(other.gains, filter.gains));
}

TEST_P(ArmadilloTest, AnotherSizeIsAnError) {
  arma::mat matrix(2, 3, arma::fill::ones);
  save(matrix);
  arma::mat transposed(3, 2, arma::fill::zeros);
  EXPECT_THAT([&] { restore(transposed); }, ThrowsMessage<Error>(HasSubstr("\"it\"")));
  EXPECT_EQ(arma::accu(transposed), 0);
}

}  // namespace
}  // namespace crochet::types
