// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Boosted trees by XGBoost's C interface, a round each step: a training that is killed continues
// with the same trees.
//
//   xgboost_example DIR ROUNDS
//
// XGBoost's own checkpoints have the model; this one has the booster with its parameters and
// attributes, and what the program keeps beside it. Rounds are the same in any life with
// seed_per_iteration, by which the rows of a round follow from its number. tree_method "hist" is
// exact as well without subsample; with it, XGBoost 1.7 makes other trees after a restart.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <xgboost/c_api.h>

#include "crochet/crochet.h"

namespace {

void check(int result) {
  if (result != 0) throw std::runtime_error(XGBGetLastError());
}

// Points, and whether they lie within a ring.
class Data {
 public:
  explicit Data(uint64_t seed) {
    std::mt19937_64 generator(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> points(2 * kRows), labels(kRows);
    for (size_t i = 0; i < kRows; ++i) {
      const float x = points[2 * i] = uniform(generator);
      const float y = points[2 * i + 1] = uniform(generator);
      labels[i] = x * x + y * y > 0.25f && x * x + y * y < 0.75f ? 1.0f : 0.0f;
    }
    check(XGDMatrixCreateFromMat(points.data(), kRows, 2, -1, &handle_));
    check(XGDMatrixSetFloatInfo(handle_, "label", labels.data(), kRows));
  }
  ~Data() { XGDMatrixFree(handle_); }
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;

  DMatrixHandle handle() const { return handle_; }

 private:
  static constexpr size_t kRows = 4000;
  DMatrixHandle handle_ = nullptr;
};

// A booster that crochet can save: all that it needs are these two functions.
class Booster {
 public:
  explicit Booster(const Data& data) {
    const DMatrixHandle handles[] = {data.handle()};
    check(XGBoosterCreate(handles, 1, &handle_));
    for (const auto& [name, value] :
         {std::pair("objective", "binary:logistic"), std::pair("max_depth", "4"),
          std::pair("eta", "0.1"), std::pair("subsample", "0.5"), std::pair("nthread", "2"),
          std::pair("seed_per_iteration", "1"), std::pair("tree_method", "exact")})
      check(XGBoosterSetParam(handle_, name, value));
  }
  ~Booster() { XGBoosterFree(handle_); }
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;

  crochet::TensorMap save() const {
    const std::span<const char> bytes = serialized();
    crochet::Tensor tensor(crochet::DType::kUint8, crochet::Shape({std::ssize(bytes)}));
    std::ranges::copy(std::as_bytes(bytes), tensor.writable_bytes().begin());
    return {{"booster", tensor}};
  }
  void restore(const crochet::TensorMap& state) {
    const std::span<const std::byte> bytes = state.at("booster").bytes();
    check(XGBoosterUnserializeFromBuffer(handle_, bytes.data(), bytes.size()));
  }

  void update(int64_t round, const Data& data) {
    check(XGBoosterUpdateOneIter(handle_, static_cast<int>(round), data.handle()));
  }
  // "[7]\tvalid-logloss:0.31"
  double loss(int64_t round, const Data& data) const {
    DMatrixHandle handles[] = {data.handle()};
    const char* names[] = {"valid"};
    const char* text = nullptr;
    check(XGBoosterEvalOneIter(handle_, static_cast<int>(round), handles, names, 1, &text));
    const std::string line = text;
    return std::stod(line.substr(line.rfind(':') + 1));
  }
  std::span<const char> serialized() const {
    bst_ulong size = 0;
    const char* bytes = nullptr;
    check(XGBoosterSerializeToBuffer(handle_, &size, &bytes));
    return {bytes, size};
  }

 private:
  BoosterHandle handle_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  const int64_t rounds = argc > 2 ? std::stoll(argv[2]) : 200;
  const Data training(1), validation(2);
  Booster booster(training);
  double loss = 0;
  crochet::Loop loop({.checkpoint = {.dir = argc > 1 ? argv[1] : "runs/ring", .every_secs = 0.2},
                      .hooks = {crochet::StopAtStepHook({.last_step = rounds})}});
  loop.track("booster", booster);
  loop.scalar("loss", [&] { return loss; });
  const auto report = loop.run([&](crochet::Step& step) {
    booster.update(step.number() - 1, training);
    loss = booster.loss(step.number() - 1, validation);
  });
  uint64_t digest = 0;
  for (const char byte : booster.serialized()) digest = digest * 31 + static_cast<uint8_t>(byte);
  std::cout << "digest " << digest << "\n";
  return report.exit_code();
}
