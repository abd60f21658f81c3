// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/group/internal/message_bytes.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet::internal {
namespace {

void read_message(std::string_view bytes) {
  MessageReader reader(bytes);
  EXPECT_EQ(reader.number(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(reader.text(), "text");
  EXPECT_EQ(reader.number(), -1);
  EXPECT_EQ(reader.rest(), "rest");
}

TEST(MessageBytesTest, AreReadAsTheyWereWritten) {
  read_message(MessageWriter()
                   .number(std::numeric_limits<int64_t>::min())
                   .text("text")
                   .number(-1)
                   .rest("rest")
                   .take());
}

TEST(MessageBytesTest, NoticesEachCut) {
  const std::string message = MessageWriter().number(7).text("text").take();
  for (size_t length = 0; length < message.size(); ++length) {
    MessageReader reader(std::string_view(message).substr(0, length));
    EXPECT_THROW(
        {
          reader.number();
          reader.text();
        },
        DataLossError)
        << length;
  }
}

TEST(MessageBytesTest, RefusesALengthBeyondTheEnd) {
  for (const int64_t length : {int64_t{5}, int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    const std::string message = MessageWriter().number(length).rest("text").take();
    EXPECT_THROW(MessageReader(message).text(), DataLossError) << length;
  }
}

}  // namespace
}  // namespace crochet::internal
