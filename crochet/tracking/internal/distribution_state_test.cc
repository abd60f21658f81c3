// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Distributions continue bit by bit, and a text that one cannot have written is rejected before the
// standard library reads it.
#include "crochet/tracking/internal/distribution_state.h"

#include <random>

#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/tracking/internal/saveable_adapters.h"

namespace crochet::internal::distributions {
namespace {

template <typename T>
std::string text_of(T& distribution) {
  return single_text(saveable_distribution(distribution, "d")->save());
}

template <typename T>
void restore(T& distribution, const std::string& text) {
  saveable_distribution(distribution, "d")->restore({{"", Tensor::scalar(text)}});
}

// After any number of calls, another one with other parameters continues from it.
template <typename T>
void expect_continues(T distribution) {
  std::mt19937_64 generator(7);
  for (int calls = 0; calls < 20; ++calls) {
    T other;
    restore(other, text_of(distribution));
    EXPECT_EQ(other, distribution) << text_of(distribution);
    std::mt19937_64 same = generator;
    T copy = distribution;
    for (int i = 0; i < 5; ++i) ASSERT_EQ(other(same), copy(generator)) << text_of(distribution);
    distribution(generator);
  }
}

template <typename Real>
void expect_real_ones_continue() {
  const Real third = Real(1) / 3;
  expect_continues(std::uniform_real_distribution<Real>(-third, 1000 * third));
  expect_continues(std::exponential_distribution<Real>(third));
  expect_continues(std::gamma_distribution<Real>(third, 100 * third));
  expect_continues(std::gamma_distribution<Real>(100 * third, third / 1000));
  expect_continues(std::weibull_distribution<Real>(third, 7 * third));
  expect_continues(std::extreme_value_distribution<Real>(-third, 7 * third));
  expect_continues(std::normal_distribution<Real>(-third, 7 * third));
  expect_continues(std::normal_distribution<Real>(1e30F * third, 1e-30F * third));
  expect_continues(std::lognormal_distribution<Real>(-third, third));
  expect_continues(std::chi_squared_distribution<Real>(10 * third));
  expect_continues(std::cauchy_distribution<Real>(-third, 7 * third));
  expect_continues(std::fisher_f_distribution<Real>(10 * third, 20 * third));
  expect_continues(std::student_t_distribution<Real>(10 * third));
}

TEST(DistributionStateTest, ContinuesEveryDistributionOfRealNumbers) {
  expect_real_ones_continue<float>();
  expect_real_ones_continue<double>();
  expect_real_ones_continue<long double>();
}

TEST(DistributionStateTest, ContinuesEveryDistributionOfIntegers) {
  expect_continues(std::uniform_int_distribution<int>(-5, 1000));
  expect_continues(std::uniform_int_distribution<int64_t>(std::numeric_limits<int64_t>::min(),
                                                          std::numeric_limits<int64_t>::max()));
  expect_continues(std::bernoulli_distribution(1.0 / 3));
  expect_continues(std::binomial_distribution<int>(40, 1.0 / 3));
  expect_continues(std::geometric_distribution<int>(1.0 / 3));
  expect_continues(std::negative_binomial_distribution<int>(4, 0.05));
  expect_continues(std::poisson_distribution<int>(1.0 / 3));
  expect_continues(std::poisson_distribution<int64_t>(100.0 / 3));
}

// Their weights are normalised when they are read; equal ones are not touched.
TEST(DistributionStateTest, RestoresWeights) {
  const auto check = [](auto distribution, auto other) {
    auto same = distribution;
    restore(same, text_of(distribution));
    EXPECT_EQ(same, distribution);
    restore(other, text_of(distribution));
    std::mt19937 generator(7), generator_of_other(7);
    for (int i = 0; i < 100; ++i)
      ASSERT_NEAR(static_cast<double>(other(generator_of_other)),
                  static_cast<double>(distribution(generator)), 1e-6);
  };
  check(std::discrete_distribution<int>({1, 2, 0, 5}), std::discrete_distribution<int>());
  const std::vector<double> bounds = {-1, 0, 2};
  const std::vector<double> weights = {1, 3, 2};
  check(std::piecewise_constant_distribution<double>(bounds.begin(), bounds.end(), weights.begin()),
        std::piecewise_constant_distribution<double>());
  check(std::piecewise_linear_distribution<float>(bounds.begin(), bounds.end(), weights.begin()),
        std::piecewise_linear_distribution<float>());
}

template <typename T>
void expect_rejects(T distribution, std::initializer_list<const char*> texts) {
  const T before = distribution;
  for (const char* const text : texts) {
    EXPECT_THROW(restore(distribution, text), InvalidArgumentError) << text;
    EXPECT_EQ(distribution, before) << text;
  }
}

TEST(DistributionStateTest, RejectsParametersOutOfRange) {
  expect_rejects(std::uniform_int_distribution<int64_t>(),
                 {"5 4", "9223372036854775807 9223372036854775806", "0 9223372036854775808"});
  expect_rejects(std::uniform_int_distribution<int>(), {"0 5000000000", "0.5 1"});
  expect_rejects(
      std::normal_distribution<double>(),
      {"0 0 0", "0 -1 0", "0 1 2", "0 1 1", "0 1 0 5", "nan 1 0", "0 inf 0", "0 1e999 0"});
  expect_rejects(std::bernoulli_distribution(), {"-0.1", "1.1"});
  expect_rejects(std::geometric_distribution<int>(), {"0", "1"});
  expect_rejects(std::binomial_distribution<int>(), {"-1 0.5 0 1 0", "1 0.5 0 0 0"});
  expect_rejects(std::gamma_distribution<float>(), {"0 1 0 1 0", "1 -1 0 1 0", "1 1 0 0 0"});
  expect_rejects(std::poisson_distribution<int>(), {"0 0 1 0"});
  expect_rejects(std::exponential_distribution<double>(), {"0", "1 1", "", "x", "1x"});
}

TEST(DistributionStateTest, RejectsCountsThatAreNotThere) {
  expect_rejects(std::discrete_distribution<int>({1, 2}),
                 {"", "-1", "1152921504606846976", "1152921504606846976 1 2", "2 1", "2 0 0",
                  "2 1 -1", "1.5 1 1"});
  expect_rejects(std::piecewise_constant_distribution<double>(),
                 {"0 1", "1 0 1", "2 0 1 1 1 1", "1152921504606846976 0 1 1", "1 1 0 1"});
  expect_rejects(std::piecewise_linear_distribution<double>(), {"1 0 1 1", "1 0 0 1 1"});
}

}  // namespace
}  // namespace crochet::internal::distributions
