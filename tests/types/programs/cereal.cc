// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A population of plants of several kinds, whose classes serialise themselves for cereal: their
// members are private, and each is known by a pointer to its base.
#include "crochet/cereal.h"

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <cereal/types/base_class.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/polymorphic.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>

#include "tests/types/programs/program.h"

class Plant {
 public:
  virtual ~Plant() = default;
  virtual void grow(double light) = 0;
  virtual double size() const = 0;
};

class Tree final : public Plant {
 public:
  void grow(double light) override {
    height_ += light;
    if (height_ > 10 * static_cast<double>(rings_.size() + 1)) rings_.push_back(height_);
  }
  double size() const override { return height_ + static_cast<double>(rings_.size()); }

 private:
  friend class cereal::access;
  template <typename Archive>
  void save(Archive& archive) const {
    archive(CEREAL_NVP(height_), CEREAL_NVP(rings_));
  }
  template <typename Archive>
  void load(Archive& archive) {
    archive(CEREAL_NVP(height_), CEREAL_NVP(rings_));
  }

  double height_ = 0;
  std::vector<double> rings_;
};

class Vine final : public Plant {
 public:
  void grow(double light) override { shape_ += light > 0.5 ? 'l' : 'r'; }
  double size() const override {
    return static_cast<double>(std::hash<std::string>()(shape_) % 1000);
  }

 private:
  friend class cereal::access;
  template <typename Archive>
  void save(Archive& archive) const {
    archive(CEREAL_NVP(shape_));
  }
  template <typename Archive>
  void load(Archive& archive) {
    archive(CEREAL_NVP(shape_));
  }

  std::string shape_;
};

CEREAL_REGISTER_TYPE(Tree)
CEREAL_REGISTER_TYPE(Vine)
CEREAL_REGISTER_POLYMORPHIC_RELATION(Plant, Tree)
CEREAL_REGISTER_POLYMORPHIC_RELATION(Plant, Vine)

int main(int, char** argv) {
  std::vector<std::unique_ptr<Plant>> garden;
  std::mt19937 rng(1);

  crochet::Loop loop(options_of(argv));
  loop.track("garden", crochet::archived(garden));
  loop.track("rng", rng);
  const auto report = loop.run([&] {
    if (garden.size() < 20 && rng() % 50 == 0) {
      if (rng() % 2 == 0)
        garden.push_back(std::make_unique<Tree>());
      else
        garden.push_back(std::make_unique<Vine>());
    }
    for (const auto& plant : garden)
      if (rng() % 20 == 0) plant->grow(static_cast<double>(rng() % 1000) / 1000);
  });

  Digest digest;
  for (const auto& plant : garden) digest.add_value(plant->size());
  digest.print();
  return report.exit_code();
}
