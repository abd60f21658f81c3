// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tracking/internal/part_names.h"

#include <charconv>
#include <system_error>

#include "crochet/base/internal/escape.h"

namespace crochet::inline v0::internal {
namespace {

template <typename Number>
std::optional<Number> parsed(const std::string& text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

}  // namespace

std::optional<long long> signed_number(const std::string& text) { return parsed<long long>(text); }
std::optional<unsigned long long> unsigned_number(const std::string& text) {
  return parsed<unsigned long long>(text);
}

std::string name_of_text(std::string_view key) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (key.empty()) return "%";
  const bool is_text = is_utf8(key);
  std::string name;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '/' || c == '%' || byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !is_text))
      name.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
    else
      name += c;
  }
  return name;
}

std::optional<std::string> text_of_name(std::string_view name) {
  std::string key;
  if (name != "%") {
    for (size_t i = 0; i < name.size(); ++i) {
      if (name[i] != '%') {
        key += name[i];
        continue;
      }
      unsigned byte = 0;
      if (i + 3 > name.size() ||
          std::from_chars(name.data() + i + 1, name.data() + i + 3, byte, 16).ptr !=
              name.data() + i + 3)
        return std::nullopt;
      key += static_cast<char>(byte);
      i += 2;
    }
  }
  if (name_of_text(key) != name) return std::nullopt;
  return key;
}

}  // namespace crochet::inline v0::internal
