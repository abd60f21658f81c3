// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/format/internal/stored_tensors.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names_of(const StoredTensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : tensors) names.push_back(name);
  return names;
}

TEST(StoredTensorsTest, FindsEachNameAndNoOther) {
  StoredTensors tensors;
  for (int i = 0; i < 5; ++i)
    tensors.append(std::string(1, static_cast<char>('b' + 2 * i)), {.offset = i});
  for (int i = 0; i < 5; ++i) {
    const std::string name(1, static_cast<char>('b' + 2 * i));
    ASSERT_NE(tensors.find(name), tensors.end()) << name;
    EXPECT_EQ(tensors.find(name)->first, name);
    EXPECT_EQ(tensors.find(name)->second.offset, i);
    EXPECT_EQ(tensors.lower_bound(name), tensors.find(name));
  }
  for (const char* const name : {"", "a", "bb", "c", "i", "jj", "k"})
    EXPECT_EQ(tensors.find(name), tensors.end()) << name;
  EXPECT_EQ(tensors.lower_bound("c")->first, "d");
  EXPECT_EQ(tensors.lower_bound(""), tensors.begin());
  EXPECT_EQ(tensors.lower_bound("k"), tensors.end());
}

TEST(StoredTensorsTest, AreSortedIfTheyComeFromAMap) {
  StoredTensors::Map entries;
  entries.emplace(std::string("\0slice", 6), StoredTensor{.offset = 3});
  entries.emplace("z", StoredTensor{.offset = 1});
  entries.emplace("a", StoredTensor{.offset = 2});
  const StoredTensors tensors(std::move(entries));
  EXPECT_EQ(tensors.size(), 3);
  EXPECT_THAT(names_of(tensors), ElementsAre(std::string("\0slice", 6), "a", "z"));
  EXPECT_EQ(tensors.find("a")->second.offset, 2);
}

// An empty name comes before a zero byte, but slices come first.
TEST(StoredTensorsTest, AnEmptyNameIsANameAndNoSlice) {
  StoredTensors::Map entries;
  entries.emplace(std::string("\0slice", 6), StoredTensor{.offset = 3});
  entries.emplace("", StoredTensor{.offset = 1});
  entries.emplace("a", StoredTensor{.offset = 2});
  const StoredTensors tensors(std::move(entries));
  EXPECT_THAT(names_of(tensors), ElementsAre(std::string("\0slice", 6), "", "a"));
  ASSERT_EQ(tensors.named().size(), 2);
  EXPECT_EQ(tensors.named().front().first, "");
  EXPECT_EQ(tensors.find("")->second.offset, 1);
  EXPECT_EQ(tensors.find(std::string("\0slice", 6))->second.offset, 3);
}

TEST(StoredTensorsTest, MayBeEmpty) {
  for (const StoredTensors& tensors : {StoredTensors(), StoredTensors(StoredTensors::Map())}) {
    EXPECT_EQ(tensors.size(), 0);
    EXPECT_EQ(tensors.find("a"), tensors.end());
    EXPECT_EQ(tensors.begin(), tensors.end());
    EXPECT_TRUE(tensors.named().empty());
  }
}

}  // namespace
}  // namespace crochet::internal
