// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/dynamic_type.h"

#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "crochet/base/internal/class_name.h"

namespace crochet::internal {
namespace {

struct Shape {
  virtual ~Shape() = default;
};
struct Circle : Shape {};
struct Named {
  virtual ~Named() = default;
  int number = 1;
};
struct NamedCircle : Named, Circle {};

// Runs `check` on an object whose virtual table has no type information, as those of classes that
// are compiled with -fno-rtti.
template <typename T, typename Check>
void without_type_information(T& object, const Check& check) {
  void* own_table = nullptr;
  std::memcpy(&own_table, static_cast<const void*>(&object), sizeof(own_table));
  // The offset to the top, the type information, and the destructors.
  std::array<void*, 4> table;
  std::memcpy(table.data(), static_cast<void**>(own_table) - 2, sizeof(table));
  table[1] = nullptr;
  void* const without = table.data() + 2;
  std::memcpy(static_cast<void*>(&object), &without, sizeof(without));
  check();
  std::memcpy(static_cast<void*>(&object), &own_table, sizeof(own_table));
}

TEST(DynamicTypeTest, IsThatOfTheWholeObject) {
  NamedCircle circle;
  const Shape& as_shape = circle;
  const Named& as_named = circle;
  EXPECT_EQ(*dynamic_type(as_shape), typeid(NamedCircle));
  EXPECT_EQ(*dynamic_type(as_named), typeid(NamedCircle));
  EXPECT_EQ(class_name_of(as_shape, "Shape"), "NamedCircle");
}

TEST(DynamicTypeTest, CastsAsDynamicCastDoes) {
  NamedCircle circle;
  Shape* shape = &circle;
  EXPECT_EQ(dynamic_as<Named>(shape), &circle);
  EXPECT_EQ(dynamic_as<const Circle>(shape), &circle);
  Shape plain;
  EXPECT_EQ(dynamic_as<Circle>(&plain), nullptr);
  shape = nullptr;
  EXPECT_EQ(dynamic_as<Circle>(shape), nullptr);
}

TEST(DynamicTypeTest, IsUnknownWithoutTypeInformation) {
  Circle circle;
  Shape* const shape = &circle;
  without_type_information(circle, [&] {
    EXPECT_EQ(dynamic_type(*shape), nullptr);
    EXPECT_EQ(dynamic_as<Circle>(shape), nullptr);
    EXPECT_EQ(class_name_of(*shape, "Shape"), "Shape");
  });
  EXPECT_EQ(dynamic_as<Circle>(shape), &circle);
}

}  // namespace
}  // namespace crochet::internal
