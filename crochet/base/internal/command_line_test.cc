// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Arguments = std::vector<std::string>;

std::string shown(const std::string& argument) { return without_secrets({argument}).front(); }

TEST(CommandLineTest, IsThatOfTheProcess) {
  const Arguments& own = own_command_line();
  ASSERT_FALSE(own.empty());
  EXPECT_THAT(own.front(), HasSubstr("crochet_base_test"));
}

TEST(CommandLineTest, LeavesOrdinaryArgumentsUnchanged) {
  const Arguments ordinary = {
      "./train",       "--lr=0.1",   "--tokenizer",      "bpe",   "--max-tokens",
      "512",           "key=loss",   "PWDX=/home",       "a:b=c", "--passes=3",
      "--data=s3://b", "http://h/x", "https://h/p?m=a@b"};
  EXPECT_EQ(without_secrets(ordinary), ordinary);
}

TEST(CommandLineTest, HidesTheValuesOfSecretOptions) {
  EXPECT_EQ(shown("--password=x"), "--password=***");
  EXPECT_EQ(shown("-password=x=y z"), "-password=***");
  EXPECT_EQ(shown("--db.Password=x"), "--db.Password=***");
  EXPECT_EQ(shown("--api_key=x"), "--api_key=***");
  EXPECT_EQ(shown("--hfToken=x"), "--hfToken=***");
  EXPECT_EQ(shown("AWS_SECRET_ACCESS_KEY=x"), "AWS_SECRET_ACCESS_KEY=***");
  EXPECT_EQ(shown("GOOGLE_CREDENTIALS=x"), "GOOGLE_CREDENTIALS=***");
  EXPECT_EQ(shown("--env=TOKEN=x"), "--env=TOKEN=***");
  EXPECT_EQ(shown("LEVEL=1 PASSWORD=x ./train"), "LEVEL=1 PASSWORD=***");
  EXPECT_EQ(shown("Authorization: Bearer x"), "Authorization:***");
  EXPECT_THAT(without_secrets({"./train", "--api-key", "x", "--token", "-y", "z"}),
              ElementsAre("./train", "--api-key", "***", "--token", "***", "z"));
}

TEST(CommandLineTest, AnOptionThatFollowsIsNotAValue) {
  EXPECT_THAT(without_secrets({"--ask-password", "--lr", "0.1", "--token"}),
              ElementsAre("--ask-password", "--lr", "0.1", "--token"));
}

TEST(CommandLineTest, HidesTheUserOfAUrl) {
  EXPECT_EQ(shown("https://user:pw@host/path"), "https://***@host/path");
  EXPECT_EQ(shown("--remote=https://ghp_x@host"), "--remote=https://***@host");
  EXPECT_EQ(shown("a://b:c@d,e://f@g@h/i"), "a://***@d,e://***@h/i");
  EXPECT_EQ(shown("a://b:c@d e://f@g"), "a://***@d e://***@g");
}

}  // namespace
}  // namespace crochet::internal
