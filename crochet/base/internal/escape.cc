// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/escape.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace crochet::inline v0::internal {
namespace {

unsigned char byte_at(std::string_view text, size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// Fast path: almost all text is plain.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

// The length in bytes of the character at the start of `text`; 0 if it is not UTF-8.
size_t utf8_length(std::string_view text) {
  const unsigned char first = byte_at(text, 0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte_at(text, i) & 0xc0) != 0x80) return 0;
  const unsigned char second = byte_at(text, 1);
  // Overlong encodings, UTF-16 surrogates, and values beyond U+10FFFF.
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
  return length;
}

// The code point of a UTF-8 character of at most three bytes; for a byte that is not UTF-8, its
// value.
uint32_t code_point(std::string_view character) {
  constexpr uint32_t kBitsOfFirst[] = {0xff, 0x1f, 0x0f};  // By length.
  uint32_t code = byte_at(character, 0) & kBitsOfFirst[character.size() - 1];
  for (size_t i = 1; i < character.size(); ++i) code = code << 6 | (byte_at(character, i) & 0x3f);
  return code;
}

bool is_control(std::string_view character) {
  if (character.size() > 3) return false;
  const uint32_t code = code_point(character);
  return code < 0x20 || (code >= 0x7f && code < 0xa0) ||  // C0, DEL, C1.
         code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x2066 && code <= 0x2069) ||
         (code >= 0x2028 && code <= 0x202e);  // Separators, and more direction marks.
}

void append_bytes(std::string& result, std::string_view bytes) {
  for (const char c : bytes) {
    if (c == '\n' || c == '\t' || c == '\r')
      result += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
    else
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
}

// Appends each character as it is, or calls `escape` for what must not stay.
template <typename Escape>
std::string escaped(std::string_view text, Escape escape) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<size_t>(length, 1));
    if (length == 0 || is_control(character))
      escape(result, character);
    else
      result += character;
    text.remove_prefix(character.size());
  }
  return result;
}

}  // namespace

std::string escape_text(std::string_view message) {
  return is_plain(message) ? std::string(message) : escaped(message, append_bytes);
}

std::string escape_name(std::string_view name) {
  std::string result;
  for (const char c : name) result += c == '\\' ? std::string("\\\\") : std::string(1, c);
  return escape_text(result);
}

std::string escape_json(std::string_view document) {
  return escaped(document, [](std::string& result, std::string_view character) {
    if (character == "\n")  // Between tokens: within strings it is already escaped.
      result += character;
    else
      result += fmt::format("\\u{:04x}", code_point(character));
  });
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace crochet::inline v0::internal
