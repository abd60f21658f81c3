// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/cloud/internal/s3_answers.h"

#include <charconv>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "crochet/base/error.h"
#include "crochet/cloud/internal/parse_utc.h"

namespace crochet::inline v0::cloud::internal {
namespace {

constexpr const char* kHex = "0123456789ABCDEF";

[[noreturn]] void throw_wrong(const std::string& found, const char* expected) {
  constexpr size_t kMax = 80;
  throw DataLossError(fmt::format("the store listed objects with \"{}\", expected {}",
                                  found.substr(0, kMax), expected));
}

std::string child(const pugi::xml_node& node, const char* name) {
  return node.child(name).text().get();
}

std::optional<int> hex_digit(char c) {
  if (c >= 'a' && c <= 'f') c = static_cast<char>(c - 'a' + 'A');
  const char* const found = c == '\0' ? nullptr : std::strchr(kHex, c);
  return found == nullptr ? std::nullopt : std::optional(static_cast<int>(found - kHex));
}

StoredObject read_object(const pugi::xml_node& node, bool is_encoded) {
  const std::string key = child(node, "Key");
  const std::string size = child(node, "Size");
  StoredObject object{.key = is_encoded ? url_decoded(key) : key};
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), object.size);
  if (key.empty() || error != std::errc() || end != size.data() + size.size())
    throw_wrong(key + " " + size, "a key and a size");
  const std::string time = child(node, "LastModified");
  const auto parsed = parse_utc(time);
  if (!parsed) throw_wrong(time, "a time");
  object.time = *parsed;
  return object;
}

}  // namespace

S3Failure read_s3_failure(const std::string& body) {
  pugi::xml_document document;
  if (!document.load_buffer(body.data(), body.size())) return {};
  const pugi::xml_node error = document.child("Error");
  return {.code = child(error, "Code"), .message = child(error, "Message")};
}

S3Page read_s3_page(const std::string& body) {
  pugi::xml_document document;
  const auto result = document.load_buffer(body.data(), body.size());
  const pugi::xml_node listing = document.child("ListBucketResult");
  if (!result || !listing) throw_wrong(body, "a ListBucketResult");
  S3Page page;
  const bool is_encoded = child(listing, "EncodingType") == "url";
  for (const pugi::xml_node& node : listing.children("Contents"))
    page.objects.push_back(read_object(node, is_encoded));
  if (child(listing, "IsTruncated") != "true") return page;
  page.next = child(listing, "NextContinuationToken");
  if (page.next.empty()) throw_wrong("IsTruncated", "a NextContinuationToken");
  return page;
}

std::string url_encoded(std::string_view text, UrlPart part) {
  constexpr std::string_view kPlain = "-_.~";
  std::string result;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || kPlain.find(c) != kPlain.npos ||
                          (c == '/' && part == UrlPart::kPath);
    if (is_plain) {
      result += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    result += {'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return result;
}

std::string url_decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      result += ' ';
      continue;
    }
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    const auto high = i + 2 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
    const auto low = high ? hex_digit(text[i + 2]) : std::nullopt;
    if (!low) throw_wrong(std::string(text), "an encoded key");
    result += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return result;
}

}  // namespace crochet::inline v0::cloud::internal
