// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace digits {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::optional<Options> parse(std::vector<const char*> words) {
  words.insert(words.begin(), "digits");
  return parse_options(static_cast<int>(words.size()), words.data());
}

TEST(OptionsTest, DefaultsSaveEvery500Steps) {
  const Options options = *parse({});
  EXPECT_EQ(options.save_steps, 500);
  EXPECT_EQ(options.save_secs, std::nullopt);
  EXPECT_EQ(options.data, DIGITS_DATA);
}

TEST(OptionsTest, ReadsEachOption) {
  const Options options =
      *parse({"--hidden=7", "--batch", "8", "--steps=9", "--dir", "d", "--save-secs=0.5",
              "--seed=18446744073709551615", "--learning-rate=1e-2", "--data=f"});
  EXPECT_EQ(options.hidden, 7);
  EXPECT_EQ(options.batch, 8);
  EXPECT_EQ(options.steps, 9);
  EXPECT_EQ(options.dir, "d");
  EXPECT_EQ(options.save_secs, 0.5);
  EXPECT_EQ(options.save_steps, std::nullopt);
  EXPECT_EQ(options.seed, 18446744073709551615u);
  EXPECT_FLOAT_EQ(options.learning_rate, 0.01f);
  EXPECT_EQ(options.data, "f");
}

TEST(OptionsTest, WrongUsageIsOneLineThatNamesTheOption) {
  for (const std::string option :
       {"--hidden", "--batch", "--steps", "--save-steps", "--save-secs", "--learning-rate"}) {
    for (const std::string value : {"0", "-1", "x", "nan", "inf", "1e99", ""}) {
      const std::string word = option + "=" + value;
      EXPECT_THAT([&] { parse({word.c_str()}); },
                  ThrowsMessage<UsageError>(
                      testing::AllOf(HasSubstr(option), testing::Not(HasSubstr("\n")))))
          << word;
    }
  }
  for (const char* word : {"--seed=-1", "--seed=1.5", "--unknown", "word", "--steps", "--dir="})
    EXPECT_THROW(parse({word}), UsageError) << word;
  EXPECT_THAT(
      [] {
        parse({"--save-steps=1", "--save-secs=1"});
      },
      ThrowsMessage<UsageError>(
          testing::AllOf(HasSubstr("--save-steps"), HasSubstr("--save-secs"))));
}

}  // namespace
}  // namespace digits
