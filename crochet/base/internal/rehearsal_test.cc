// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/rehearsal.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class RehearsalTest : public ::testing::Test {
 protected:
  ~RehearsalTest() override { ::unsetenv(kRehearsalVariable); }

  static void set(const std::string& value) { ::setenv(kRehearsalVariable, value.c_str(), 1); }
};

TEST_F(RehearsalTest, IsNotRequestedByDefault) {
  EXPECT_EQ(requested_rehearsal(), std::nullopt);
  EXPECT_FALSE(is_rehearsed());
  set("");
  EXPECT_EQ(requested_rehearsal(), std::nullopt);
  EXPECT_FALSE(is_rehearsed());
}

TEST_F(RehearsalTest, MayLeaveTheProgramAsItIs) {
  set(kUndisturbed);
  EXPECT_EQ(requested_rehearsal(), std::nullopt);
  EXPECT_TRUE(is_rehearsed());
}

TEST_F(RehearsalTest, IsReadAsItIsWritten) {
  const Rehearsal rehearsal = {.save_step = 90, .kill_step = 100};
  EXPECT_EQ(rehearsal_text(rehearsal), "save=90 kill=100");
  set(rehearsal_text(rehearsal));
  EXPECT_EQ(requested_rehearsal(), rehearsal);
  EXPECT_TRUE(is_rehearsed());
}

TEST_F(RehearsalTest, RejectsOtherValues) {
  for (const char* const value : {"yes", "save=90", "save=0 kill=1", "save=9 kill=9",
                                  "save=1 kill=2 ", "save=01 kill=2", "kill=2 save=1"}) {
    set(value);
    EXPECT_THAT([] { requested_rehearsal(); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr("expected \"save=90 kill=100\"")))
        << value;
  }
}

}  // namespace
}  // namespace crochet::internal
