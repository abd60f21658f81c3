// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/escape.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"

namespace crochet::internal {
namespace {

TEST(EscapeTest, LeavesPlainTextUnchanged) {
  for (const char* const text :
       {"", "model/w 1", "größe 日本 😀", "~ !", "C:\\x", "\xc2\xa0", "\xe2\x80\xa7"}) {
    EXPECT_EQ(escape_text(text), text);
    EXPECT_TRUE(is_utf8(text));
  }
}

TEST(EscapeTest, EscapesControlCharacters) {
  EXPECT_EQ(escape_text("a\nb\tc\rd\x1b[2J\x7f"), "a\\nb\\tc\\rd\\x1b[2J\\x7f");
  EXPECT_EQ(escape_text(std::string_view("\0\x1f", 2)), "\\x00\\x1f");
  EXPECT_EQ(escape_text("\xc2\x80\xc2\x9b\xc2\x9f"), "\\xc2\\x80\\xc2\\x9b\\xc2\\x9f");  // C1.
  EXPECT_EQ(escape_text("a\u202e b\u2066 c\u200f d\u061c"),
            "a\\xe2\\x80\\xae b\\xe2\\x81\\xa6 c\\xe2\\x80\\x8f d\\xd8\\x9c");
  EXPECT_EQ(escape_text("\u2028\u2029"), "\\xe2\\x80\\xa8\\xe2\\x80\\xa9");
}

TEST(EscapeTest, EscapesBytesThatAreNotUtf8) {
  for (const char* const bad :
       {"\xff", "\x80", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe0\x80\x80",
        "\xf0\x80\x80\x80", "\xe2\x82"}) {
    EXPECT_FALSE(is_utf8(bad));
    EXPECT_EQ(escape_text(bad).find_first_not_of("\\x0123456789abcdef"), std::string::npos);
  }
  EXPECT_EQ(escape_text("a\xc3z\xff"), "a\\xc3z\\xff");
}

TEST(EscapeTest, KeepsBackslashesOfAMessageAndDoublesThoseOfAName) {
  const std::string once = escape_text("\x1b\\n\n");
  EXPECT_EQ(once, "\\x1b\\n\\n");
  EXPECT_EQ(escape_text(once), once);
  EXPECT_EQ(escape_name("\x1b\\n\n"), "\\x1b\\\\n\\n");
}

TEST(EscapeTest, KeepsTheMeaningOfJson) {
  EXPECT_EQ(escape_json("{\n  \"a\xc2\x9b\x7f\u202e\": \"größe\\n\"\n}\n"),
            "{\n  \"a\\u009b\\u007f\\u202e\": \"größe\\n\"\n}\n");
}

// Code that throws or logs a name from a file need not escape it.
TEST(EscapeTest, ErrorsAndLogLinesAreEscaped) {
  const std::string name = "hooks/x\x1b]0;title\a\nI 12:00:00 all is well \xff";
  const std::string shown = "hooks/x\\x1b]0;title\\x07\\nI 12:00:00 all is well \\xff";
  EXPECT_EQ(NotFoundError(fmt::format("{}: missing", name)).what(), shown + ": missing");
  EXPECT_EQ(Error(Code::kDataLoss, name).what(), shown);
  EXPECT_THAT([&] { throw_error(Code::kAborted, name); },
              ::testing::ThrowsMessage<AbortedError>(shown));
  std::string line;
  const LogCallback previous =
      set_log_callback([&](Severity, std::string_view message) { line = message; });
  log_warning(fmt::format("{}: surplus", name));
  EXPECT_EQ(line, shown + ": surplus");
  log(Severity::kInfo, name);
  EXPECT_EQ(line, shown);
  set_log_callback(previous);
  ::testing::internal::CaptureStderr();
  log_to_stderr(Severity::kInfo, name);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::EndsWith(shown + "\n"));
}

}  // namespace
}  // namespace crochet::internal
