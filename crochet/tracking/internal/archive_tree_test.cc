// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tracking/internal/archive_tree.h"

#include <array>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::string> names(const TensorMap& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

template <typename T>
void add_array(ArchiveTreeWriter& tree, const std::vector<T>& values) {
  tree.add_array(dtype_of<T>, std::as_bytes(std::span(values)));
}

// A root with a named number, a vector, an array without a size, and a list of two texts.
TensorMap written() {
  ArchiveTreeWriter tree;
  tree.begin_node();
  tree.next_name("rate");
  tree.add(Tensor::scalar(0.5));
  tree.next_name("weights");
  tree.begin_node();
  tree.add_size(3);
  add_array<float>(tree, {1, 2, 3});
  tree.end_node();
  add_array<int>(tree, {4, 5});
  tree.next_name("names");
  tree.begin_node();
  tree.add_size(2);
  tree.add(Tensor::scalar(std::string("a")));
  tree.add(Tensor::scalar(std::string("b")));
  tree.end_node();
  tree.end_node();
  return tree.take();
}

TEST(ArchiveTreeTest, ANodeThatIsNothingButAnArrayIsThatArray) {
  const TensorMap tensors = written();
  EXPECT_THAT(names(tensors), ElementsAre("names/size", "names/value0", "names/value1", "rate",
                                          "value0", "weights"));
  EXPECT_EQ(tensors.at("weights"), Tensor::from<float>({1, 2, 3}));
  EXPECT_EQ(tensors.at("value0"), Tensor::from<int>({4, 5}));
}

TEST(ArchiveTreeTest, ReadsWhatWasWritten) {
  const TensorMap tensors = written();
  ArchiveTreeReader tree(tensors);
  tree.begin_node();
  // In another order: names count.
  tree.next_name("names");
  tree.begin_node();
  EXPECT_EQ(tree.take_size(), 2U);
  EXPECT_EQ(tree.take(DType::kString).strings().front(), "a");
  EXPECT_EQ(tree.take(DType::kString).strings().front(), "b");
  tree.end_node();
  tree.next_name("weights");
  tree.begin_node();
  EXPECT_EQ(tree.take_size(), 3U);
  std::array<float, 3> weights = {};
  tree.take_array(DType::kFloat, std::as_writable_bytes(std::span(weights)));
  EXPECT_THAT(weights, ElementsAre(1, 2, 3));
  tree.end_node();
  std::array<int, 2> numbers = {};
  tree.take_array(DType::kInt32, std::as_writable_bytes(std::span(numbers)));
  EXPECT_THAT(numbers, ElementsAre(4, 5));
  EXPECT_THAT([&] { tree.check_all_is_read(); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("the checkpoint has \"rate\", which the program does not read")));
  tree.next_name("rate");
  EXPECT_EQ(tree.take(DType::kDouble).scalar<double>(), 0.5);
  tree.end_node();
  tree.check_all_is_read();
}

TEST(ArchiveTreeTest, EmptyArraysAndListsKeepTheirPlaces) {
  ArchiveTreeWriter writer;
  writer.begin_node();
  for (const char* const name : {"array", "list"}) {
    writer.next_name(name);
    writer.begin_node();
    writer.add_size(0);
    if (name == std::string("array")) add_array<double>(writer, {});
    writer.end_node();
  }
  writer.end_node();
  const TensorMap tensors = writer.take();
  EXPECT_THAT(names(tensors), ElementsAre("array", "list/size"));
  ArchiveTreeReader reader(tensors);
  reader.begin_node();
  for (const char* const name : {"array", "list"}) {
    reader.next_name(name);
    reader.begin_node();
    EXPECT_EQ(reader.take_size(), 0U);
    if (name == std::string("array")) reader.take_array(DType::kDouble, {});
    reader.end_node();
  }
  reader.end_node();
  reader.check_all_is_read();
}

// An array beside other members stays a member.
TEST(ArchiveTreeTest, AnArrayBesideOthersHasANameOfItsOwn) {
  ArchiveTreeWriter tree;
  tree.begin_node();
  tree.next_name("matrix");
  tree.begin_node();
  tree.next_name("rows");
  tree.add(Tensor::scalar(1));
  tree.next_name("data");
  add_array<float>(tree, {1, 2});
  tree.end_node();
  tree.end_node();
  EXPECT_THAT(names(tree.take()), ElementsAre("matrix/data", "matrix/rows"));
}

// One that does not have as many elements as its size says, such as bytes of something else.
TEST(ArchiveTreeTest, ASizeOfSomethingElseStays) {
  ArchiveTreeWriter tree;
  tree.begin_node();
  tree.next_name("packed");
  tree.begin_node();
  tree.add_size(5);
  add_array<uint8_t>(tree, {1, 2});
  tree.end_node();
  tree.end_node();
  EXPECT_THAT(names(tree.take()), ElementsAre("packed/size", "packed/value0"));
}

TEST(ArchiveTreeTest, AValueWithoutANodeIsTheObjectItself) {
  ArchiveTreeWriter writer;
  writer.add(Tensor::scalar(7));
  const TensorMap tensors = writer.take();
  EXPECT_THAT(names(tensors), ElementsAre(""));
  ArchiveTreeReader reader(tensors);
  EXPECT_EQ(reader.take(DType::kInt32).scalar<int>(), 7);
  reader.check_all_is_read();
}

TEST(ArchiveTreeTest, RefusesANameThatIsWrittenTwice) {
  ArchiveTreeWriter tree;
  tree.begin_node();
  tree.next_name("x");
  tree.add(Tensor::scalar(1));
  tree.next_name("x");
  EXPECT_THAT([&] { tree.add(Tensor::scalar(2)); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("\"x\" is written twice")));
}

TEST(ArchiveTreeTest, RefusesWhatIsMissingOrOfAnotherKind) {
  const TensorMap tensors = {{"x", Tensor::scalar(1)}, {"v", Tensor::from<float>({1, 2})}};
  ArchiveTreeReader tree(tensors);
  tree.begin_node();
  const auto take = [&](const char* name, DType dtype) {
    tree.next_name(name);
    tree.take(dtype);
  };
  const auto take_array = [&](size_t size) {
    std::vector<float> values(size);
    tree.next_name("v");
    tree.take_array(DType::kFloat, std::as_writable_bytes(std::span(values)));
  };
  EXPECT_THAT([&] { take("y", DType::kInt32); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("\"y\" is missing")));
  EXPECT_THAT([&] { take("x", DType::kInt64); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("expected one int64")));
  EXPECT_THAT([&] { take("v", DType::kFloat); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("expected one float32")));
  EXPECT_THAT([&] { take_array(3); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("expected 3 float32")));
  EXPECT_NO_THROW(take_array(2));
}

// A hostile size does not have the program allocate more than the checkpoint has.
TEST(ArchiveTreeTest, ASizeIsBoundedByWhatIsStored) {
  const TensorMap tensors = {{"list/size", Tensor::scalar(uint64_t{1} << 60)},
                             {"list/value0", Tensor::scalar(1)},
                             {"other", Tensor::from<float>(std::vector<float>(100))}};
  ArchiveTreeReader tree(tensors);
  tree.begin_node();
  tree.next_name("list");
  tree.begin_node();
  EXPECT_THAT([&] { tree.take_size(); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("only 2 values are stored there")));
}

// Reading one that is neither true nor false would be undefined.
TEST(ArchiveTreeTest, ABoolIsTrueOrFalse) {
  Tensor tensor = Tensor::from<uint8_t>({1, 2});
  Tensor bools(DType::kBool, {2});
  std::memcpy(bools.writable_bytes().data(), tensor.bytes().data(), 2);
  const TensorMap tensors = {{"v", bools}};
  ArchiveTreeReader tree(tensors);
  tree.begin_node();
  std::array<bool, 2> values = {};
  tree.next_name("v");
  EXPECT_THROW(tree.take_array(DType::kBool, std::as_writable_bytes(std::span(values))), Error);
}

}  // namespace
}  // namespace crochet::inline v0::internal
