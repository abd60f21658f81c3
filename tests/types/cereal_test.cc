// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Types that cereal serialises, none of which names crochet, saved by a Loop and restored by
// another program.
#include "crochet/cereal.h"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cereal/types/array.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/types/types_test.h"

namespace foreign {

struct Base {
  int b = 1;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(b));
  }
};

// A member function that is private, base classes, arrays, a member without a name.
class Layer : public Base {
 public:
  std::vector<float> weights = {1, 2};
  std::map<std::string, double> moments;
  float grid[2][2] = {};
  int unnamed = 0;

 private:
  friend class cereal::access;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(cereal::base_class<Base>(this), CEREAL_NVP(weights), CEREAL_NVP(moments));
    archive(cereal::make_nvp("grid", grid), unnamed);
  }
};

// A free function.
struct Particle {
  float x = 0, y = 0;
  int id = 0;
  friend bool operator==(const Particle&, const Particle&) = default;
};
template <typename Archive>
void serialize(Archive& archive, Particle& particle) {
  archive(cereal::make_nvp("x", particle.x), cereal::make_nvp("y", particle.y),
          cereal::make_nvp("id", particle.id));
}

// Its own matrix, whose numbers are binary data.
class Matrix {
 public:
  Matrix() = default;
  Matrix(size_t rows, size_t columns) : rows_(rows), columns_(columns), data_(rows * columns) {}
  float& at(size_t row, size_t column) { return data_[row * columns_ + column]; }
  size_t rows() const { return rows_; }

  template <typename Archive>
  void save(Archive& archive) const {
    archive(cereal::make_nvp("rows", rows_), cereal::make_nvp("columns", columns_));
    archive(
        cereal::make_nvp("data", cereal::binary_data(data_.data(), data_.size() * sizeof(float))));
  }
  template <typename Archive>
  void load(Archive& archive) {
    archive(cereal::make_nvp("rows", rows_), cereal::make_nvp("columns", columns_));
    data_.resize(rows_ * columns_);
    archive(
        cereal::make_nvp("data", cereal::binary_data(data_.data(), data_.size() * sizeof(float))));
  }

 private:
  size_t rows_ = 0, columns_ = 0;
  std::vector<float> data_;
};

// What it keeps is not what it stores.
class Split {
 public:
  std::vector<double> values = {1, 2, 3};
  std::vector<std::string> names = {"a", "b"};
  std::array<int, 3> counts = {};
  bool is_loaded = false;

  template <typename Archive>
  void save(Archive& archive) const {
    archive(CEREAL_NVP(values), CEREAL_NVP(names), counts);
  }
  template <typename Archive>
  void load(Archive& archive) {
    archive(CEREAL_NVP(values), CEREAL_NVP(names), counts);
    is_loaded = true;
  }
};

class Ticks {
 public:
  Ticks() = default;
  explicit Ticks(int64_t count) : count_(count) {}
  int64_t count() const { return count_; }
  template <typename Archive>
  int64_t save_minimal(const Archive&) const {
    return count_;
  }
  template <typename Archive>
  void load_minimal(const Archive&, const int64_t& count) {
    count_ = count;
  }

 private:
  int64_t count_ = 0;
};

struct Figure {
  virtual ~Figure() = default;
  virtual double area() const = 0;
};
struct Square : Figure {
  double side = 2;
  double area() const override { return side * side; }
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(side));
  }
};
struct Circle : Figure {
  double radius = 3;
  double area() const override { return 3 * radius * radius; }
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(radius));
  }
};
struct Unknown : Figure {
  double area() const override { return 0; }
};

// One object that two pointers own.
struct Graph {
  std::shared_ptr<Particle> first = std::make_shared<Particle>();
  std::shared_ptr<Particle> second = first;
  template <typename Archive>
  void save(Archive& archive) const {
    archive(CEREAL_NVP(first), CEREAL_NVP(second));
  }
  template <typename Archive>
  void load(Archive& archive) {
    archive(CEREAL_NVP(first), CEREAL_NVP(second));
  }
};

// The same class, of two releases of a program.
struct OldSettings {
  int a = 1;
  template <typename Archive>
  void serialize(Archive& archive, uint32_t) {
    archive(CEREAL_NVP(a));
  }
};
struct NewSettings {
  int a = 1, b = 2;
  template <typename Archive>
  void serialize(Archive& archive, uint32_t version) {
    archive(CEREAL_NVP(a));
    if (version > 1) archive(CEREAL_NVP(b));
  }
};
struct OldSplit {
  int a = 1;
  template <typename Archive>
  void save(Archive& archive, uint32_t) const {
    archive(CEREAL_NVP(a));
  }
  template <typename Archive>
  void load(Archive& archive, uint32_t) {
    archive(CEREAL_NVP(a));
  }
};
struct NewSplit {
  int a = 1, b = 2;
  template <typename Archive>
  void save(Archive& archive, uint32_t) const {
    archive(CEREAL_NVP(a), CEREAL_NVP(b));
  }
  template <typename Archive>
  void load(Archive& archive, uint32_t version) {
    archive(CEREAL_NVP(a));
    if (version > 1) archive(CEREAL_NVP(b));
  }
};

// Stores a variable of its function.
struct Careless {
  std::vector<int> values = {1, 2};
  template <typename Archive>
  void serialize(Archive& archive) {
    int count = static_cast<int>(values.size());
    archive(CEREAL_NVP(count), CEREAL_NVP(values));
  }
};

// All of them: crochet finds the members of this one itself.
struct World {
  Layer layer = {};
  std::vector<Particle> particles = {};
  Split split = {};
  Ticks ticks = {};
  std::unique_ptr<Figure> figure = {};
  std::shared_ptr<Figure> other = {};
  std::map<int, Split> splits = {};
  std::optional<Particle> maybe = {};
};

}  // namespace foreign

CEREAL_REGISTER_TYPE(foreign::Square)
CEREAL_REGISTER_TYPE(foreign::Circle)
CEREAL_REGISTER_POLYMORPHIC_RELATION(foreign::Figure, foreign::Square)
CEREAL_REGISTER_POLYMORPHIC_RELATION(foreign::Figure, foreign::Circle)
CEREAL_CLASS_VERSION(foreign::OldSettings, 1)
CEREAL_CLASS_VERSION(foreign::NewSettings, 2)
CEREAL_CLASS_VERSION(foreign::OldSplit, 1)
CEREAL_CLASS_VERSION(foreign::NewSplit, 2)

namespace crochet::types {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class CerealTest : public TypesTest {};
INSTANTIATE_TEST_SUITE_P(Formats, CerealTest, formats(), format_name);

TEST_P(CerealTest, SerializeListsMembersUnderTheirNames) {
  foreign::Layer layer;
  layer.b = 5;
  layer.weights = {3, 4, 5};
  layer.moments = {{"m", 0.5}};
  layer.grid[1][0] = 7;
  layer.unnamed = 8;
  save(layer);
  EXPECT_THAT(names(),
              ElementsAre("b", "grid", "moments/keys", "moments/values", "value0", "weights"));
  EXPECT_EQ(checkpoint().read("it/weights"), Tensor::from<float>({3, 4, 5}));
  foreign::Layer other;
  restore(other);
  EXPECT_EQ(other.b, 5);
  EXPECT_EQ(other.weights, layer.weights);
  EXPECT_EQ(other.moments, layer.moments);
  EXPECT_EQ(other.grid[1][0], 7);
  EXPECT_EQ(other.unnamed, 8);
}

TEST_P(CerealTest, AVectorOfObjectsIsAColumnForEachMember) {
  std::vector<foreign::Particle> particles = {{1, 2, 3}, {4, 5, 6}};
  save(particles);
  EXPECT_THAT(names(), ElementsAre("id", "x", "y"));
  for (size_t size : {0, 1, 5}) {
    std::vector<foreign::Particle> others(size);
    restore(others);
    EXPECT_EQ(others, particles);
  }
}

TEST_P(CerealTest, SaveAndLoadAreATree) {
  foreign::Split split;
  split.values = {9};
  split.names = {};
  split.counts = {1, 2, 3};
  save(split);
  EXPECT_THAT(names(), ElementsAre("names/size", "value0", "values"));
  foreign::Split other;
  restore(other);
  EXPECT_EQ(other.values, split.values);
  EXPECT_EQ(other.names, split.names);
  EXPECT_EQ(other.counts, split.counts);
  EXPECT_TRUE(other.is_loaded);
}

TEST_P(CerealTest, BinaryDataIsAnArray) {
  foreign::Matrix matrix(2, 3);
  matrix.at(1, 2) = 5;
  save(matrix);
  EXPECT_THAT(names(), ElementsAre("columns", "data", "rows"));
  EXPECT_EQ(checkpoint().read("it/data"), Tensor::from<float>({0, 0, 0, 0, 0, 5}));
  foreign::Matrix other;
  restore(other);
  EXPECT_EQ(other.rows(), 2U);
  EXPECT_EQ(other.at(1, 2), 5);
}

TEST_P(CerealTest, MinimalOnesAreANumber) {
  foreign::Ticks ticks(77);
  save(ticks);
  EXPECT_THAT(names(), ElementsAre(""));
  foreign::Ticks other;
  restore(other);
  EXPECT_EQ(other.count(), 77);
}

TEST_P(CerealTest, PointersToBaseClassesKeepTheClass) {
  std::unique_ptr<foreign::Figure> figure = std::make_unique<foreign::Circle>();
  save(figure);
  std::unique_ptr<foreign::Figure> none;
  std::unique_ptr<foreign::Figure> other = std::make_unique<foreign::Square>();
  for (auto* each : {&none, &other}) {
    restore(*each);
    ASSERT_NE(*each, nullptr);
    EXPECT_EQ((*each)->area(), 27);
  }
}

TEST_P(CerealTest, ANullPointerStaysNull) {
  std::shared_ptr<foreign::Figure> none;
  save(none);
  std::shared_ptr<foreign::Figure> other = std::make_shared<foreign::Square>();
  restore(other);
  EXPECT_EQ(other, nullptr);
}

TEST_P(CerealTest, AnUnknownClassIsAnError) {
  std::unique_ptr<foreign::Figure> figure = std::make_unique<foreign::Unknown>();
  EXPECT_THAT(
      [&] { save(figure); },
      ThrowsMessage<Error>(AllOf(HasSubstr("\"it\""), HasSubstr("unregistered polymorphic"))));
}

TEST_P(CerealTest, OneObjectOfTwoPointersStaysOne) {
  foreign::Graph graph;
  graph.first->id = 5;
  save(graph);
  foreign::Graph other;
  other.second = std::make_shared<foreign::Particle>();
  restore(other);
  EXPECT_EQ(other.first->id, 5);
  EXPECT_EQ(other.first, other.second);
}

TEST_P(CerealTest, ObjectsInStructsAndContainers) {
  foreign::World world;
  world.layer.weights = {};
  world.particles = {{1, 2, 3}};
  world.split.counts = {7, 8, 9};
  world.ticks = foreign::Ticks(4);
  world.figure = std::make_unique<foreign::Square>();
  world.other = std::make_shared<foreign::Circle>();
  world.splits[3].values = {5};
  world.maybe = foreign::Particle{4, 5, 6};
  save(world);
  foreign::World fresh;
  foreign::World changed;
  changed.particles.resize(7);
  changed.splits[1];
  changed.figure = std::make_unique<foreign::Circle>();
  for (auto* other : {&fresh, &changed}) {
    restore(*other);
    EXPECT_TRUE(other->layer.weights.empty());
    EXPECT_EQ(other->particles, world.particles);
    EXPECT_EQ(other->split.counts, world.split.counts);
    EXPECT_EQ(other->ticks.count(), 4);
    EXPECT_EQ(other->figure->area(), 4);
    EXPECT_EQ(other->other->area(), 27);
    ASSERT_EQ(other->splits.size(), 1U);
    EXPECT_EQ(other->splits.at(3).values, std::vector<double>{5});
    EXPECT_EQ(other->maybe, world.maybe);
  }
}

TEST_P(CerealTest, AVersionIsKept) {
  foreign::OldSettings old{7};
  save(old);
  foreign::NewSettings settings;
  restore(settings);
  EXPECT_EQ(settings.a, 7);
  EXPECT_EQ(settings.b, 2) << "is not in the checkpoint";
}

TEST_P(CerealTest, AVersionOfAWholeIsKept) {
  foreign::OldSplit old{7};
  save(old);
  foreign::NewSplit split;
  restore(split);
  EXPECT_EQ(split.a, 7);
  EXPECT_EQ(split.b, 2);
}

TEST_P(CerealTest, ALaterVersionIsAnError) {
  foreign::NewSettings settings{7, 8};
  save(settings);
  foreign::NewSettings same;
  restore(same);
  EXPECT_EQ(same.b, 8);
  foreign::OldSettings old;
  EXPECT_THAT([&] { restore(old); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("\"it\" was written by version 2 of its class, which is later than the "
                            "program's, 1")));
  EXPECT_EQ(old.a, 1);
}

TEST_P(CerealTest, AMemberThatIsMissingIsAnError) {
  foreign::OldSplit old;
  save(old);
  foreign::Matrix matrix;
  EXPECT_THAT([&] { restore(matrix); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("\"rows\" is missing")));
}

TEST_P(CerealTest, AVariableOfSerializeIsAnError) {
  foreign::Careless careless;
  EXPECT_THAT([&] { save(careless); }, ThrowsMessage<InvalidArgumentError>(HasSubstr(
                                           "\"it\": \"count\" is a variable of serialize()")));
}

TEST_P(CerealTest, AnythingCanBeArchivedAsAWhole) {
  foreign::Layer layer;
  layer.b = 5;
  layer.moments = {{"m", 0.5}};
  save(archived(layer));
  EXPECT_THAT(names(), ElementsAre("grid", "moments/size", "moments/value0/key",
                                   "moments/value0/value", "value0/b", "value1", "weights"));
  foreign::Layer other;
  restore(archived(other));
  EXPECT_EQ(other.b, 5);
  EXPECT_EQ(other.moments, layer.moments);
}

TEST_P(CerealTest, AContainerCanBeArchivedAsAWhole) {
  std::vector<foreign::Particle> particles = {{1, 2, 3}, {4, 5, 6}};
  save(archived(particles));
  std::vector<foreign::Particle> others(9);
  restore(archived(others));
  EXPECT_EQ(others, particles);
}

TEST_P(CerealTest, OpaqueOnesCanBeBytes) {
  foreign::Split split;
  split.names = {"opaque"};
  save(as_bytes(split));
  EXPECT_THAT(names(), ElementsAre(""));
  foreign::Split other;
  restore(as_bytes(other));
  EXPECT_EQ(other.names, split.names);
}

TEST_P(CerealTest, TriviallyCopyableOnesCanBeBytes) {
  class Opaque {
   public:
    void set(int value) { value_ = value; }
    int value() const { return value_; }

   private:
    int value_ = 0;
  };
  Opaque opaque;
  opaque.set(3);
  save(as_bytes(opaque));
  Opaque other;
  restore(as_bytes(other));
  EXPECT_EQ(other.value(), 3);
  std::array<Opaque, 2> larger;
  EXPECT_THAT([&] { restore(as_bytes(larger)); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("4 bytes are stored, expected 8")));
}

}  // namespace
}  // namespace crochet::types
