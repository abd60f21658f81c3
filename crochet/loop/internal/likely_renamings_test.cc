// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/internal/likely_renamings.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Names = std::vector<std::string>;

RestoreMismatch mismatch_of_names(const Names& missing, const Names& surplus) {
  const RestoreMismatch::Value value{DType::kFloat, {3}};
  RestoreMismatch mismatch;
  for (const std::string& name : missing) mismatch.missing.push_back({name, name, value});
  for (const std::string& name : surplus) mismatch.surplus.push_back({name, value});
  return mismatch;
}

std::vector<StoredName> renamings(const Names& missing, const Names& surplus) {
  return likely_renamings(mismatch_of_names(missing, surplus));
}

TEST(LikelyRenamingsTest, PairsTheMostSimilarNames) {
  EXPECT_THAT(renamings({"bias"}, {"b"}), ElementsAre(StoredName{"bias", "b"}));
  EXPECT_THAT(renamings({"net/w2", "net/w1"}, {"model/w1", "model/w2"}),
              ElementsAre(StoredName{"net/w2", "model/w2"}, StoredName{"net/w1", "model/w1"}));
}

TEST(LikelyRenamingsTest, TwoValuesNeverShareAnOldName) {
  EXPECT_THAT(renamings({"weights", "momentum"}, {"weight"}),
              ElementsAre(StoredName{"weights", "weight"}));
  EXPECT_THAT(renamings({"momentum", "weights"}, {"weight", "xyz"}),
              ElementsAre(StoredName{"momentum", "xyz"}, StoredName{"weights", "weight"}))
      << "what is left is paired as well";
}

TEST(LikelyRenamingsTest, DoesNotGuessBetweenEquallySimilarNames) {
  EXPECT_THAT(renamings({"a"}, {"b", "c"}), IsEmpty());
  EXPECT_THAT(renamings({"a", "b"}, {"c"}), IsEmpty());
  EXPECT_THAT(renamings({"x1", "bias"}, {"x2", "x3", "bias_"}),
              ElementsAre(StoredName{"bias", "bias_"}));
}

TEST(LikelyRenamingsTest, PairsOnlyWhatFits) {
  RestoreMismatch mismatch = mismatch_of_names({"w"}, {"w1", "w22", "w333"});
  mismatch.surplus[0].value.dtype = DType::kDouble;
  mismatch.surplus[1].value.shape = {4};
  EXPECT_THAT(likely_renamings(mismatch), ElementsAre(StoredName{"w", "w333"}));
  mismatch.missing[0].value->shape = {Shape::kUnknownDimension};
  EXPECT_THAT(likely_renamings(mismatch), ElementsAre(StoredName{"w", "w22"}));
  mismatch.missing[0].value.reset();
  EXPECT_THAT(likely_renamings(mismatch), IsEmpty()) << "an object, whose entries are unknown";
}

TEST(LikelyRenamingsTest, LeavesOutNamesThatWouldBePatterns) {
  EXPECT_THAT(renamings({"a*b"}, {"ab"}), IsEmpty());
  EXPECT_THAT(renamings({"ab"}, {"a*b"}), IsEmpty());
}

TEST(LikelyRenamingsTest, DoesNotCompareTheNamesOfAnotherProgram) {
  Names missing, surplus;
  for (int i = 0; i < 1000; ++i) {
    missing.push_back("net/" + std::to_string(i));
    surplus.push_back("model/" + std::to_string(i));
  }
  EXPECT_THAT(renamings(missing, surplus), IsEmpty());
}

}  // namespace
}  // namespace crochet::internal
