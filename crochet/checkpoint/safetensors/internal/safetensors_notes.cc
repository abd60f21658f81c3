// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/safetensors/internal/safetensors_notes.h"

#include <algorithm>
#include <charconv>

#include "crochet/base/error.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {
namespace {

constexpr size_t kDigits = 8;
constexpr std::string_view kZeros = "00000000";
static_assert(kZeros.size() == kDigits);

// Removes the text up to and including the next space, and returns it without the space.
std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

std::optional<uint32_t> decode_crc(std::string_view digits) {
  uint32_t crc = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, crc, 16);
  if (digits.size() != kDigits || error != std::errc() || stop != end) return std::nullopt;
  // Accepts only one spelling of each number, so that every flipped bit is detected.
  return fmt::format("{:08x}", crc) == digits ? std::optional(crc) : std::nullopt;
}

// "[2,3]".
std::optional<Shape> decode_shape(std::string_view text) {
  std::vector<int64_t> sizes;
  if (!text.starts_with('[') || !text.ends_with(']') || text.size() < 2) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const std::string_view digits = text.substr(0, text.find(','));
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, sizes.emplace_back());
    if (error != std::errc() || stop != end || sizes.back() < 0) return std::nullopt;
    text.remove_prefix(std::min(text.size(), digits.size() + 1));
  }
  try {
    return Shape(sizes);
  } catch (const InvalidArgumentError&) {
    return std::nullopt;
  }
}

DType find_dtype(std::string_view name) {
  for (int32_t number = 1; is_valid_dtype(number); ++number)
    if (name == dtype_name(static_cast<DType>(number))) return static_cast<DType>(number);
  return DType::kInvalid;
}

}  // namespace

bool is_note(std::string_view key) {
  // "crochet.header_crc32c.<file>" in the index of several files.
  return key == kChecksumsKey || key == kIndexChecksumKey || key.starts_with(kHeaderChecksumKey) ||
         key.starts_with(kDtypePrefix) || key.starts_with(kSlicePrefix);
}

bool has_notes(const Metadata& metadata) {
  for (auto each = metadata.lower_bound(kNotePrefix);
       each != metadata.end() && each->first.starts_with(kNotePrefix); ++each)
    if (is_note(each->first)) return true;
  return false;
}

std::string encode_checksums(std::span<const uint32_t> crcs) {
  std::string text;
  for (const uint32_t crc : crcs)
    fmt::format_to(std::back_inserter(text), "{}{:08x}", text.empty() ? "" : " ", crc);
  return text;
}

std::optional<std::vector<uint32_t>> decode_checksums(std::string_view text, size_t count) {
  std::vector<uint32_t> crcs;
  if (text.size() + 1 != std::max<size_t>(1, count * (kDigits + 1))) return std::nullopt;
  while (!text.empty()) {
    const auto crc = decode_crc(take_word(text));
    if (!crc) return std::nullopt;
    crcs.push_back(*crc);
  }
  return crcs.size() == count ? std::optional(std::move(crcs)) : std::nullopt;
}

std::optional<size_t> find_checksum(std::string_view json, std::string_view key) {
  const std::string before = fmt::format("\"{}\":\"", key);
  const size_t found = json.find(before);
  if (found == std::string_view::npos) return std::nullopt;
  const size_t position = found + before.size();
  if (json.find('"', position) != position + kDigits) return std::nullopt;
  return position;
}

uint32_t crc32c_without(std::string_view bytes, size_t position) {
  uint32_t crc = crc32c(bytes.substr(0, position));
  crc = extend_crc32c(crc, std::as_bytes(std::span(kZeros)));
  return extend_crc32c(crc, std::as_bytes(std::span(bytes.substr(position + kDigits))));
}

uint32_t verified_checksum(std::string_view bytes, std::string_view key, std::string_view file) {
  const auto position = find_checksum(bytes, key);
  if (!position) throw DataLossError(fmt::format("{}: \"{}\" is not 8 hex digits", file, key));
  const auto expected = decode_checksums(bytes.substr(*position, 8), 1);
  const uint32_t found = crc32c_without(bytes, *position);
  if (!expected || expected->front() != found)
    throw DataLossError(fmt::format(
        "{}: crc32c of the header is {:08x}, its \"{}\" is {}; a program that rewrites such a file "
        "must not keep the metadata \"{}*\"",
        file, found, key, bytes.substr(*position, 8), kNotePrefix));
  return found;
}

void put_checksum(std::string& bytes, std::string_view key) {
  const size_t position = *find_checksum(bytes, key);
  bytes.replace(position, kDigits, encode_checksums(std::vector{crc32c_without(bytes, position)}));
}

std::string encode(const StoredType& type) { return fmt::format("{} {}", type.dtype, type.shape); }

std::optional<StoredType> decode_stored_type(std::string_view text) {
  const DType dtype = find_dtype(take_word(text));
  const auto shape = decode_shape(text);
  if (dtype == DType::kInvalid || !shape) return std::nullopt;
  return StoredType{dtype, *shape};
}

std::string encode(const SliceNote& note) {
  return fmt::format("{} {} {}", note.full_shape, to_string(note.slice), note.key);
}

std::optional<SliceNote> decode_slice_note(std::string_view text) {
  const auto shape = decode_shape(take_word(text));
  const std::string_view slice = take_word(text);
  if (!shape || text.empty()) return std::nullopt;
  try {
    return SliceNote{*shape, parse_slice(slice), std::string(text)};
  } catch (const InvalidArgumentError&) {
    return std::nullopt;
  }
}

}  // namespace crochet::inline v0::internal
