// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/parse_json.h"

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {
namespace {

using nlohmann::json;

// Messages of the JSON library quote the last token, which may be as long as the text.
constexpr size_t kMaxMessageBytes = 200;

// Counts brackets outside strings. Up to the first error, where the parser stops, they give the
// depth of nesting. At a zero byte the parser would stop as if the text ended there.
void check(std::string_view text, std::string_view document) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\0') throw DataLossError(fmt::format("{}: byte {}: a zero byte", document, i));
    if (c == '"')
      in_string = !in_string;
    else if (in_string)
      i += c == '\\' ? 1 : 0;
    else if (c == ']' || c == '}')
      --depth;
    else if ((c == '[' || c == '{') && ++depth > kMaxJsonDepth)
      throw DataLossError(
          fmt::format("{}: byte {}: nested deeper than {} levels", document, i, kMaxJsonDepth));
  }
}

[[noreturn]] void throw_not_json(std::string_view document, size_t byte,
                                 const json::exception& error) {
  const std::string_view message = error.what();
  throw DataLossError(fmt::format("{}: byte {}: {}{}", document, byte,
                                  message.substr(0, kMaxMessageBytes),
                                  message.size() > kMaxMessageBytes ? "..." : ""));
}

}  // namespace

json parse_json(std::string_view text, std::string_view document) {
  check(text, document);
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    throw_not_json(document, error.byte, error);
  } catch (const json::exception& error) {  // A number out of range.
    throw_not_json(document, text.size(), error);
  }
}

bool JsonHandler::parse_error(size_t byte, const std::string&, const json::exception& error) {
  throw_not_json(document(), byte, error);
}

void parse_json(std::string_view text, JsonHandler& handler) {
  check(text, handler.document());
  json::sax_parse(text.begin(), text.end(), &handler);
}

}  // namespace crochet::inline v0::internal
