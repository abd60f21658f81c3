// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace crochet::internal {

// Every JSON text that the library or a tool reads goes through these two functions; tests/layering
// refuses any other call of a parser. Text from a file is not trusted: what is made of it, and
// printed or destroyed later, nests no deeper than kMaxJsonDepth.

// Our own files need 3.
inline constexpr int kMaxJsonDepth = 32;

// Throws: DataLossError with `document` and the byte for text that is not JSON, has a zero byte or
// nests deeper.
nlohmann::json parse_json(std::string_view text, std::string_view document);

// Gets the parts of a text, one after another.
class JsonHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  // Messages call the text `document`, a string that outlives this.
  explicit JsonHandler(std::string_view document) : document_(document) {}

  bool binary(nlohmann::json::binary_t&) final { return false; }  // A text has none.
  // Throws: DataLossError.
  bool parse_error(size_t byte, const std::string& token,
                   const nlohmann::json::exception& error) final;
  std::string_view document() const { return document_; }

 private:
  const std::string_view document_;
};

// Calls `handler` for each part. Throws: as parse_json(), and what the handler throws.
void parse_json(std::string_view text, JsonHandler& handler);

}  // namespace crochet::internal
