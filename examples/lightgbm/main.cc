// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Boosted trees by LightGBM's C interface, a round each step: a training that is killed continues
// with the same trees.
//
//   lightgbm_example DIR ROUNDS
//
// LightGBM continues a model as its Python package does: what the model predicts for the rows is
// where a new booster begins, and the trees of the model are merged into it. That is exact without
// bagging and feature_fraction, whose generators LightGBM 4.7 does not save.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "crochet/crochet.h"
#include "examples/lightgbm/c_api.h"

namespace {

void check(int result) {
  if (result != 0) throw std::runtime_error(LGBM_GetLastError());
}

// Points, and whether they lie within a ring.
struct Data {
  Data() : points(2 * kRows), labels(kRows) {
    std::mt19937_64 generator(1);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (size_t i = 0; i < kRows; ++i) {
      const double x = points[2 * i] = uniform(generator);
      const double y = points[2 * i + 1] = uniform(generator);
      labels[i] = x * x + y * y > 0.25 && x * x + y * y < 0.75 ? 1.0f : 0.0f;
    }
  }
  static constexpr int kRows = 4000;
  std::vector<double> points;
  std::vector<float> labels;
};

// A booster that crochet can save: all that it needs are save() and restore().
class Booster {
 public:
  explicit Booster(const Data& data) : data_(data) {
    check(LGBM_DatasetCreateFromMat(data.points.data(), kLgbmFloat64, Data::kRows, 2,
                                    /*is_row_major=*/1, kParameters, nullptr, &rows_));
    check(LGBM_DatasetSetField(rows_, "label", data.labels.data(), Data::kRows, kLgbmFloat32));
    check(LGBM_BoosterCreate(rows_, kParameters, &booster_));
  }
  ~Booster() {
    LGBM_BoosterFree(booster_);
    LGBM_DatasetFree(rows_);
  }
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;

  crochet::TensorMap save() const { return {{"model", crochet::Tensor::from({text()}, {})}}; }
  void restore(const crochet::TensorMap& state) {
    const std::string text(state.at("model").strings()[0]);
    LgbmHandle saved = nullptr;
    int num_rounds = 0;
    check(LGBM_BoosterLoadModelFromString(text.c_str(), &num_rounds, &saved));
    const std::unique_ptr<void, int (*)(LgbmHandle)> owner(saved, LGBM_BoosterFree);
    // Without trees, the first round begins with the average of the labels.
    std::vector<double> scores(num_rounds > 0 ? Data::kRows : 0);
    int64_t num_scores = 0;
    if (num_rounds > 0)
      check(LGBM_BoosterPredictForMat(saved, data_.points.data(), kLgbmFloat64, Data::kRows, 2, 1,
                                      kLgbmRawScore, 0, -1, kParameters, &num_scores,
                                      scores.data()));
    check(LGBM_DatasetSetField(rows_, "init_score", scores.data(), static_cast<int>(scores.size()),
                               kLgbmFloat64));
    check(LGBM_BoosterFree(booster_));
    check(LGBM_BoosterCreate(rows_, kParameters, &booster_));
    if (num_rounds > 0) check(LGBM_BoosterMerge(booster_, saved));
  }

  void update() {
    int is_finished = 0;
    check(LGBM_BoosterUpdateOneIter(booster_, &is_finished));
  }
  std::string text() const {
    int64_t size = 0;
    check(LGBM_BoosterSaveModelToString(booster_, 0, -1, 0, 0, &size, nullptr));
    std::string text(static_cast<size_t>(size), '\0');
    check(LGBM_BoosterSaveModelToString(booster_, 0, -1, 0, size, &size, text.data()));
    text.pop_back();  // It ends with a zero.
    return text;
  }

 private:
  static constexpr const char* kParameters =
      "objective=binary num_leaves=15 learning_rate=0.1 deterministic=true force_row_wise=true "
      "num_threads=2 verbose=-1";
  const Data& data_;
  LgbmHandle rows_ = nullptr;
  LgbmHandle booster_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  const int64_t rounds = argc > 2 ? std::stoll(argv[2]) : 200;
  const Data data;
  Booster booster(data);
  crochet::Loop loop({.checkpoint = {.dir = argc > 1 ? argv[1] : "runs/ring", .every_secs = 0.2},
                      .hooks = {crochet::StopAtStepHook({.last_step = rounds})}});
  loop.track("booster", booster);
  const auto report = loop.run([&] { booster.update(); });
  uint64_t digest = 0;
  for (const char byte : booster.text()) digest = digest * 31 + static_cast<uint8_t>(byte);
  std::cout << "digest " << digest << "\n";
  return report.exit_code();
}
