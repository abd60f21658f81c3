// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/parse_json.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet::internal {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

std::string nested(int depth, char open, char close) {
  return std::string(static_cast<size_t>(depth), open) +
         std::string(static_cast<size_t>(depth), close);
}

// Accepts any value.
class CountingHandler final : public JsonHandler {
 public:
  CountingHandler() : JsonHandler("counted") {}

  bool null() override { return count(); }
  bool boolean(bool) override { return count(); }
  bool number_integer(int64_t) override { return count(); }
  bool number_unsigned(uint64_t) override { return count(); }
  bool number_float(double, const std::string&) override { return count(); }
  bool string(std::string&) override { return count(); }
  bool start_object(size_t) override { return count(); }
  bool key(std::string&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return count(); }
  bool end_array() override { return true; }

  int num_values = 0;

 private:
  bool count() { return ++num_values > 0; }
};

int count_values(const std::string& text) {
  CountingHandler handler;
  parse_json(text, handler);
  return handler.num_values;
}

nlohmann::json parse_document(const std::string& text, std::string_view document = "d") {
  JsonTree tree;
  parse_json(text, document, tree);
  return tree.root;
}

TEST(ParseJsonTest, ParsesADocument) {
  const auto document = parse_document(R"({"a": [1, "]}\"["], "b": null})");
  EXPECT_EQ(document.at("a").at(1), "]}\"[");
  EXPECT_EQ(parse_document(R"({"a": {"b": 1}, "a": [-1, 2.5, true, {}]})"),
            nlohmann::json::parse(R"({"a": [-1, 2.5, true, {}]})"));
  EXPECT_EQ(count_values(R"({"a": [1, "]}\"["], "b": null})"), 5);
}

// Brackets within strings do not count, whatever is escaped before them.
TEST(ParseJsonTest, LimitsTheDepth) {
  EXPECT_NO_THROW(parse_document(nested(kMaxJsonDepth, '[', ']')));
  EXPECT_EQ(count_values(nested(kMaxJsonDepth, '[', ']')), kMaxJsonDepth);
  const std::string brackets(100, '[');
  EXPECT_NO_THROW(
      parse_document("[\"" + brackets + "\\\\\", \"" + brackets + "\\\"" + brackets + "\"]"));
  for (const std::string& text :
       {nested(kMaxJsonDepth + 1, '[', ']'), nested(1'000'000, '[', ']'),
        std::string(1'000'000, '['), "[\"\\\\\"" + std::string(1'000'000, '['),
        "[\"\\\"\"" + std::string(1'000'000, '{')}) {
    const auto too_deep = ThrowsMessage<DataLossError>(
        AllOf(HasSubstr(": byte "), EndsWith("nested deeper than 32 levels")));
    EXPECT_THAT([&] { parse_document(text); }, too_deep);
    EXPECT_THAT([&] { count_values(text); }, too_deep);
  }
}

TEST(ParseJsonTest, ReportsWhereTextIsNotJson) {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("{} {}"),
        std::string("]") + nested(9, '[', ']'), std::string("\xff"), std::string("\"\xc3\""),
        std::string("1e999"), std::string("{}\0", 3), std::string("[1,]")}) {
    EXPECT_THAT([&] { parse_document(text, "dir/x.json"); },
                ThrowsMessage<DataLossError>(StartsWith("dir/x.json: byte ")))
        << text;
    EXPECT_THAT([&] { count_values(text); },
                ThrowsMessage<DataLossError>(StartsWith("counted: byte ")))
        << text;
  }
}

// The JSON library quotes the last token in its message.
TEST(ParseJsonTest, LimitsTheLengthOfMessages) {
  const std::string text = "[\"" + std::string(1'000'000, 'x') + "\" 1]";
  try {
    parse_document(text);
    FAIL();
  } catch (const DataLossError& error) {
    EXPECT_LT(std::string_view(error.what()).size(), 300U);
  }
}

}  // namespace
}  // namespace crochet::internal
