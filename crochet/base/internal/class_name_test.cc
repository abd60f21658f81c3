// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/class_name.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace crochet::internal {

struct Plain {
  struct Nested {};
};

template <typename T>
struct Outer {
  struct Inner {};
};

namespace {

struct Hidden {};

TEST(ClassNameTest, OmitsNamespaces) {
  EXPECT_EQ(class_name(typeid(Plain)), "Plain");
  EXPECT_EQ(class_name(typeid(Plain::Nested)), "Nested");
  EXPECT_EQ(class_name(typeid(Hidden)), "Hidden");
  EXPECT_EQ(class_name(typeid(int)), "int");
}

TEST(ClassNameTest, OmitsTemplateArguments) {
  EXPECT_EQ(class_name(typeid(Outer<Plain>)), "Outer");
  EXPECT_EQ(class_name(typeid(Outer<std::vector<Hidden>>)), "Outer");
  EXPECT_EQ(class_name(typeid(Outer<Plain>::Inner)), "Inner");
}

template <typename T>
const std::type_info& local_class(const std::vector<T>&) {
  struct Local {};
  return typeid(Local);
}

TEST(ClassNameTest, NamesClassesInFunctions) {
  struct Local {};
  EXPECT_EQ(class_name(typeid(Local)), "Local");
  EXPECT_EQ(class_name(local_class(std::vector<Plain>())), "Local");
}

struct Base {
  virtual ~Base() = default;
};
struct Derived : Base {};

TEST(ClassNameTest, NamesTheDynamicType) {
  const Derived derived;
  const Base& base = derived;
  EXPECT_EQ(class_name(typeid(base)), "Derived");
}

}  // namespace
}  // namespace crochet::internal
