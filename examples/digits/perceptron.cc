// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "perceptron.h"

#include <cmath>
#include <random>

#include "random.h"

namespace digits {
namespace {

void randomize(Eigen::MatrixXf& weights, std::mt19937_64& generator) {
  const float bound = std::sqrt(6.0f / static_cast<float>(weights.cols()));
  for (float& weight : weights.reshaped()) weight = uniform(-bound, bound, generator);
}

Eigen::MatrixXf hidden_layer(const Weights& weights, const Eigen::MatrixXf& images) {
  return ((weights.w1 * images).colwise() + weights.b1).cwiseMax(0.0f);
}

Eigen::MatrixXf output_layer(const Weights& weights, const Eigen::MatrixXf& hidden) {
  return (weights.w2 * hidden).colwise() + weights.b2;
}

// The logarithm of softmax. The largest logit of each sample is shifted to 0 first, so that exp
// does not overflow.
Eigen::MatrixXf log_softmax(const Eigen::MatrixXf& logits) {
  const Eigen::MatrixXf shifted = logits.rowwise() - logits.colwise().maxCoeff();
  return shifted.rowwise() - shifted.array().exp().matrix().colwise().sum().array().log().matrix();
}

}  // namespace

Weights Weights::zeros(Eigen::Index inputs, Eigen::Index hidden, Eigen::Index outputs) {
  return {.w1 = Eigen::MatrixXf::Zero(hidden, inputs),
          .b1 = Eigen::VectorXf::Zero(hidden),
          .w2 = Eigen::MatrixXf::Zero(outputs, hidden),
          .b2 = Eigen::VectorXf::Zero(outputs)};
}

Weights Weights::zeros_like(const Weights& other) {
  return zeros(other.w1.cols(), other.w1.rows(), other.w2.rows());
}

Perceptron::Perceptron(Eigen::Index inputs, Eigen::Index hidden, Eigen::Index outputs,
                       uint64_t seed)
    : Weights(zeros(inputs, hidden, outputs)) {
  std::mt19937_64 generator(seed);
  randomize(w1, generator);
  randomize(w2, generator);
}

Gradients Perceptron::gradients(const Dataset& batch) const {
  const Eigen::MatrixXf hidden = hidden_layer(*this, batch.images);
  const Eigen::MatrixXf log_probabilities = log_softmax(output_layer(*this, hidden));

  float loss = 0;
  Eigen::MatrixXf d_logits = log_probabilities.array().exp();
  for (Eigen::Index i = 0; i < batch.size(); ++i) {
    loss -= log_probabilities(batch.labels[i], i);
    d_logits(batch.labels[i], i) -= 1;
  }
  const float scale = 1.0f / static_cast<float>(batch.size());
  d_logits *= scale;
  const Eigen::MatrixXf d_hidden =
      (w2.transpose() * d_logits).array() * (hidden.array() > 0).cast<float>();

  Gradients gradients;
  gradients.w1 = d_hidden * batch.images.transpose();
  gradients.b1 = d_hidden.rowwise().sum();
  gradients.w2 = d_logits * hidden.transpose();
  gradients.b2 = d_logits.rowwise().sum();
  gradients.loss = loss * scale;
  return gradients;
}

Eigen::VectorXi Perceptron::predict(const Eigen::MatrixXf& images) const {
  const Eigen::MatrixXf logits = output_layer(*this, hidden_layer(*this, images));
  Eigen::VectorXi classes(images.cols());
  for (Eigen::Index i = 0; i < images.cols(); ++i) logits.col(i).maxCoeff(&classes[i]);
  return classes;
}

}  // namespace digits
