// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// Every JSON text that the library or a tool reads goes through these two functions; tests/layering
// rejects any other call of a parser. Text from a file is not trusted: values parsed from it, which
// are later printed and destroyed recursively, nest no deeper than kMaxJsonDepth.

// The library's own files need 3.
inline constexpr int kMaxJsonDepth = 32;

// A value that is destroyed without an allocation. Those of the library allocate when they are
// destroyed with their children, and when they are compared with a text, and end the process if
// memory is short.
class CROCHET_EXPORT JsonTree {
 public:
  JsonTree() = default;
  ~JsonTree();
  JsonTree(const JsonTree&) = delete;
  JsonTree& operator=(const JsonTree&) = delete;

  // To be filled by assigning to members, not from initializer lists, which are temporary values.
  nlohmann::json root;
};

// Replaces the tree's value. Throws: DataLossError with `document` and the byte offset for text
// that is not JSON, contains a zero byte or nests deeper.
CROCHET_EXPORT void parse_json(std::string_view text, std::string_view document, JsonTree& tree);

// Receives the parts of a text, one after another.
class JsonHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  // `document` names the text in messages. Requires: the string outlives this.
  explicit JsonHandler(std::string_view document) : document_(document) {}

  bool binary(nlohmann::json::binary_t&) final { return false; }  // Never occurs in text.
  // Throws: DataLossError.
  bool parse_error(size_t byte, const std::string& token,
                   const nlohmann::json::exception& error) final;
  std::string_view document() const { return document_; }

 private:
  const std::string_view document_;
};

// Calls `handler` for each part. Throws: as parse_json(), and what the handler throws.
void parse_json(std::string_view text, JsonHandler& handler);

}  // namespace crochet::inline v0::internal
