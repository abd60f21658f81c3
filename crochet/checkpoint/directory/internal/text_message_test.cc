// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/text_message.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// "name=value" for each field, values of strings in brackets.
std::vector<std::string> fields(std::string_view text) {
  std::vector<std::string> result;
  for (const TextField& field : parse_text_message(text))
    result.push_back(field.name + "=" + (field.quoted ? "[" + field.value + "]" : field.value));
  return result;
}

TEST(TextMessageTest, ReadsFieldsInOrder) {
  EXPECT_THAT(fields("a: \"x\"\nb: 1.5\na: 'y' c:-7e3;d : true,\n"),
              ElementsAre("a=[x]", "b=1.5", "a=[y]", "c=-7e3", "d=true"));
  EXPECT_THAT(fields(""), ElementsAre());
  EXPECT_EQ(parse_text_message("a: 1\n\nb: 2")[1].line, 3u);
}

TEST(TextMessageTest, SkipsCommentsAndNestedMessages) {
  EXPECT_THAT(
      fields("# one: 1\na: 1 # two: 2\nm { x: '}' n < y: 2 > } k: {}\n[ext.name] { z: 1 } b: 2"),
      ElementsAre("a=1", "b=2"));
}

TEST(TextMessageTest, ListsAreRepeatedFields) {
  EXPECT_THAT(fields("a: ['x', \"y\"] b: [] c: [{d: 1}, {d: 2}] e: [1]"),
              ElementsAre("a=[x]", "a=[y]", "e=1"));
}

TEST(TextMessageTest, ReadsEscapes) {
  EXPECT_THAT(fields(R"(a: "\a\b\f\n\r\t\v\\\'\"\?")"), ElementsAre("a=[\a\b\f\n\r\t\v\\'\"?]"));
  EXPECT_THAT(fields(R"(a: "\101\0601\x41\xe9g\7")"), ElementsAre("a=[A01A\xe9g\a]"));
  EXPECT_THAT(fields(R"(a: 'say "x"' "it's")"), ElementsAre("a=[say \"x\"it's]"));
}

TEST(TextMessageTest, QuotingReadsBackTheSame) {
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);
  EXPECT_THAT(fields("a: " + quote(every_byte)), ElementsAre("a=[" + every_byte + "]"));
  EXPECT_EQ(quote("d/m\"'\\\n\x01\xc3\xa9~\x7f"), R"("d/m\"\'\\\n\001\303\251~\177")");
}

TEST(TextMessageTest, DoublesLookLikeDoubles) {
  EXPECT_EQ(to_text(1.0), "1.0");
  EXPECT_EQ(to_text(1700000000.125), "1700000000.125");
  EXPECT_EQ(to_text(-3.0), "-3.0");
  EXPECT_EQ(to_text(1e300), "1e+300");
  EXPECT_EQ(to_text(std::numeric_limits<double>::infinity()), "inf");
}

TEST(TextMessageTest, ErrorsHaveTheLineAndWhatWasFound) {
  const auto fails = [](std::string_view text, std::string_view message) {
    EXPECT_THAT([=] { parse_text_message(text); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(std::string(message))))
        << text;
  };
  fails("a: 1\nb 2", "line 2: found \"2\" after \"b\", expected ':'");
  fails("a:", "line 1: found the end, expected a value");
  fails("a: \"x", "the end within a string");
  fails("a: \"x\n\"", "the end of the line within a string");
  fails("a: \"\\q\"", "the escape \\q");
  fails("a: \"\\xg\"", "the escape \\x without digits");
  fails("a: \"\\777\"", "octal escape above");
  fails("m { a: 1", "expected '}'");
  fails("m { a: 1 >", "expected the name of a field");
  fails("a: [1, 2", "expected ',' or ']'");
  fails("[a", "'[' without ']'");
  fails("}", "expected the name of a field");
  fails(std::string(1, '\0'), "expected the name of a field");
}

TEST(TextMessageTest, NestingIsBounded) {
  std::string deep;
  for (int i = 0; i < 1'000'000; ++i) deep += "m{";
  EXPECT_THROW(parse_text_message(deep), InvalidArgumentError);
}

TEST(TextMessageTest, EveryTruncationIsAMessageOrAnError) {
  const std::string text = "a: \"x\\101\" m { b: [1, <c: 'y'>] } # end\nd: 1.5";
  for (size_t size = 0; size <= text.size(); ++size) {
    try {
      EXPECT_LE(parse_text_message(std::string_view(text).substr(0, size)).size(), 2u);
    } catch (const InvalidArgumentError&) {
    }
  }
}

}  // namespace
}  // namespace crochet::internal
