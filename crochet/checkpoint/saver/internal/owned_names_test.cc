// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/owned_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

using testing::Optional;

const OwnedName kMoment = {"adam/exp_avg/net/a.w", "net/a.w"};
const OwnedName kGradient = {"net/gradients/a.w", "net/a.w"};

TEST(OwnedNamesTest, APartIsStoredWithTheOldNameOfItsOwner) {
  const std::vector<StoredName> rules = {{"net/a.*", "net/b.*"}};
  EXPECT_THAT(stored_with_owner(rules, kMoment), Optional(std::string("adam/exp_avg/net/b.w")));
  EXPECT_THAT(stored_with_owner(rules, kGradient), Optional(std::string("net/gradients/b.w")));
}

TEST(OwnedNamesTest, APartIsStoredInTheObjectOfItsOwner) {
  EXPECT_THAT(stored_with_owner({{"net/a.w", "old/a.w"}}, kGradient),
              Optional(std::string("old/gradients/a.w")));
  EXPECT_EQ(stored_with_owner({{"net/a.w", "old/b.v"}}, kGradient), std::nullopt)
      << "it is not known where the name of the object ends";
}

TEST(OwnedNamesTest, TheObjectOfThePartMayHaveAnotherNameAsWell) {
  EXPECT_THAT(stored_with_owner({{"net/a.*", "old/b.*"}, {"net", "old"}}, kGradient),
              Optional(std::string("old/gradients/b.w")));
  for (const std::vector<StoredName>& rules :
       {std::vector<StoredName>{{"net", "old"}, {"adam", "sgd"}},
        std::vector<StoredName>{{"adam/*", "sgd/*"}, {"net", "old"}}})
    EXPECT_THAT(stored_with_owner(rules, kMoment), Optional(std::string("sgd/exp_avg/old/a.w")));
}

TEST(OwnedNamesTest, ARuleAboutThePartItselfCountsIfItIsFirst) {
  const StoredName about_owner = {"net/a.w", "net/b.w"}, about_part = {"net/gradients/a.w", "g"};
  EXPECT_EQ(stored_with_owner({about_part, about_owner}, kGradient), std::nullopt);
  EXPECT_THAT(stored_with_owner({about_owner, about_part}, kGradient),
              Optional(std::string("net/gradients/b.w")));
  EXPECT_EQ(stored_with_owner({{"adam", "adam"}, about_owner}, kMoment), std::nullopt);
  EXPECT_EQ(stored_with_owner({{"net/*", "old/*"}}, kGradient), std::nullopt)
      << "the rule is about both";
  EXPECT_EQ(stored_with_owner({}, kGradient), std::nullopt);
}

TEST(OwnedNamesTest, FollowsNothingWhoseNameIsNotInItsOwn) {
  EXPECT_EQ(stored_with_owner({{"net/a.w", "net/b.w"}}, {"net/gradients/c.w", "net/a.w"}),
            std::nullopt);
  EXPECT_EQ(stored_with_owner({{"net/a.w", "net/b.w"}}, {"net/a.w", "net/a.w"}), std::nullopt);
}

}  // namespace
}  // namespace crochet::internal
