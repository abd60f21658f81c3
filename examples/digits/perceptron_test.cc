// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "perceptron.h"

#include <cmath>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "adam.h"
#include "random.h"

namespace digits {
namespace {

// A batch of random numbers.
Dataset random_batch(Eigen::Index inputs, Eigen::Index outputs, Eigen::Index samples,
                     uint64_t seed) {
  std::mt19937_64 generator(seed);
  Dataset batch{.images = Eigen::MatrixXf(inputs, samples), .labels = Eigen::VectorXi(samples)};
  for (float& pixel : batch.images.reshaped()) pixel = uniform(0, 1, generator);
  for (int& label : batch.labels)
    label = static_cast<int>(generator() % static_cast<uint64_t>(outputs));
  return batch;
}

// The derivative of the loss by one parameter, by finite differences.
float slope(const Perceptron& model, const Dataset& batch, float& parameter) {
  constexpr float kDelta = 1e-3f;
  const float middle = parameter;
  parameter = middle + kDelta;
  const float above = model.gradients(batch).loss;
  parameter = middle - kDelta;
  const float below = model.gradients(batch).loss;
  parameter = middle;
  return (above - below) / (2 * kDelta);
}

TEST(PerceptronTest, GradientsAgreeWithFiniteDifferences) {
  Perceptron model(5, 7, 4, 1);
  const Dataset batch = random_batch(5, 4, 6, 2);
  const Gradients gradients = model.gradients(batch);
  const auto expect_slopes = [&](auto& parameters, const auto& expected) {
    ASSERT_EQ(parameters.size(), expected.size());
    for (Eigen::Index i = 0; i < parameters.size(); ++i)
      EXPECT_NEAR(slope(model, batch, parameters.data()[i]), expected.data()[i], 3e-3f) << i;
  };
  expect_slopes(model.w1, gradients.w1);
  expect_slopes(model.b1, gradients.b1);
  expect_slopes(model.w2, gradients.w2);
  expect_slopes(model.b2, gradients.b2);
  EXPECT_GT(gradients.w1.norm(), 0.1f);
}

TEST(PerceptronTest, LossOfAUniformModelIsTheLogarithmOfTheClasses) {
  Perceptron model(5, 7, 4, 1);
  model.w2.setZero();
  EXPECT_FLOAT_EQ(model.gradients(random_batch(5, 4, 6, 2)).loss, std::log(4.0f));
}

TEST(PerceptronTest, HugeLogitsDoNotOverflow) {
  Perceptron model(5, 7, 4, 1);
  model.w2 *= 1e6f;
  const Gradients gradients = model.gradients(random_batch(5, 4, 6, 2));
  EXPECT_TRUE(std::isfinite(gradients.loss));
  EXPECT_TRUE(gradients.w1.allFinite());
}

TEST(PerceptronTest, SeedDeterminesTheWeights) {
  EXPECT_EQ(Perceptron(64, 8, 10, 1).w1, Perceptron(64, 8, 10, 1).w1);
  EXPECT_NE(Perceptron(64, 8, 10, 1).w1, Perceptron(64, 8, 10, 2).w1);
}

TEST(AdamTest, FirstStepIsTheLearningRateAgainstTheSign) {
  Perceptron model(2, 3, 2, 1);
  const Perceptron before = model;
  Adam adam(model, 0.25f);
  Weights gradients = Weights::zeros_like(model);
  gradients.w1.setConstant(4);
  gradients.b2.setConstant(-0.01f);
  adam.apply(gradients);
  EXPECT_TRUE(model.w1.isApprox((before.w1.array() - 0.25f).matrix(), 1e-4f));
  EXPECT_TRUE(model.b2.isApprox((before.b2.array() + 0.25f).matrix(), 1e-4f));
  EXPECT_EQ(model.w2, before.w2);
}

}  // namespace
}  // namespace digits
