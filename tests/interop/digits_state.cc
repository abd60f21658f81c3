// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Trains the digits without crochet, in a bare loop, and prints the final state as the JSON
// with which check_checkpoint.py compares a checkpoint. So the checkpoint of the digits example is
// compared with memory that crochet never touched, element by element as Eigen indexes it.
#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "adam.h"
#include "batches.h"
#include "best_accuracy_hook.h"
#include "digits_data.h"
#include "evaluation.h"
#include "options.h"
#include "perceptron.h"

namespace digits {
namespace {

// Accepts the same values as a Tracker, and records them.
class Dump {
 public:
  explicit Dump(nlohmann::json& state, std::string prefix = "")
      : state_(state), prefix_(std::move(prefix)) {}

  Dump& operator()(const char* name, const Eigen::MatrixXf& matrix) {
    std::vector<float> elements;
    for (Eigen::Index row = 0; row < matrix.rows(); ++row)
      for (Eigen::Index column = 0; column < matrix.cols(); ++column)
        elements.push_back(matrix(row, column));
    return add(name, "float32", {matrix.rows(), matrix.cols()}, elements);
  }
  Dump& operator()(const char* name, const Eigen::VectorXf& vector) {
    return add(name, "float32", {vector.size()},
               std::vector<float>(vector.data(), vector.data() + vector.size()));
  }
  Dump& operator()(const char* name, const std::vector<int32_t>& numbers) {
    return add(name, "int32", {static_cast<int64_t>(numbers.size())}, numbers);
  }
  Dump& operator()(const char* name, int64_t number) {
    return add(name, "int64", {}, std::vector<int64_t>{number});
  }
  Dump& operator()(const char* name, float number) {
    return add(name, "float32", {}, std::vector<float>{number});
  }
  Dump& operator()(const char* name, const std::mt19937_64& generator) {
    std::stringstream text;
    text << generator;
    std::vector<uint64_t> words;
    for (uint64_t word = 0; text >> word;) words.push_back(word);
    return add(name, "uint64", {static_cast<int64_t>(words.size())}, words);
  }
  template <typename T>
  requires requires(T& value, Dump& dump) { value.track(dump); }
  Dump& operator()(const char* name, T& value) {
    Dump parts(state_, prefix_ + name + "/");
    value.track(parts);
    return *this;
  }

 private:
  template <typename T>
  Dump& add(const char* name, const char* dtype, std::vector<int64_t> shape,
            const std::vector<T>& elements) {
    std::string hex;
    for (const T& element : elements) {
      unsigned char bytes[sizeof(T)];
      std::memcpy(bytes, &element, sizeof(T));
      for (const unsigned char byte : bytes) hex += fmt::format("{:02x}", byte);
    }
    state_[prefix_ + name] = {{"dtype", dtype}, {"shape", shape}, {"hex", hex}};
    return *this;
  }

  nlohmann::json& state_;
  const std::string prefix_;
};

nlohmann::json train(int64_t steps) {
  const Options options = *parse_options(1, std::vector<const char*>{"digits"}.data());
  const Digits digits = load_digits(options.data);
  Perceptron model(kPixels, options.hidden, kClasses, options.seed);
  Adam adam(model, options.learning_rate);
  Batches batches(digits.train, options.batch, options.seed);
  float best = 0;
  int64_t best_step = 0;
  for (int64_t step = 1; step <= steps; ++step) {
    adam.apply(model.gradients(batches.next()));
    if (step % BestAccuracyHook::kEverySteps != 0) continue;
    if (const float now = accuracy(model, digits.test); now > best) {
      best = now;
      best_step = step;
    }
  }
  nlohmann::json state;
  Dump dump(state);
  dump("global_step", steps)("model", model)("adam", adam)("batches", batches);
  dump("hooks/BestAccuracyHook/best", best)("hooks/BestAccuracyHook/best_step", best_step);
  return state;
}

}  // namespace
}  // namespace digits

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  fmt::print("{}\n", digits::train(std::atoll(argv[1])).dump());
}
