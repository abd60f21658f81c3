// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// Numbers and texts one after the other, little-endian: texts have their length before them. The
// ranks of a group send these to each other.
class MessageWriter {
 public:
  MessageWriter& number(int64_t value) {
    for (int shift = 0; shift < 64; shift += 8)
      bytes_ += static_cast<char>(static_cast<uint64_t>(value) >> shift);
    return *this;
  }
  MessageWriter& text(std::string_view value) {
    number(static_cast<int64_t>(value.size()));
    bytes_ += value;
    return *this;
  }
  MessageWriter& rest(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads them. Functions throw a DataLossError where the bytes end.
class CROCHET_EXPORT MessageReader {
 public:
  // Requires: the bytes outlive this.
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}

  int64_t number();
  std::string_view text();
  std::string_view rest() const { return rest_; }

 private:
  std::string_view take(size_t length);

  std::string_view rest_;
};

// FNV-1a, which is the same in every build.
inline uint64_t message_hash(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char each : bytes) hash = (hash ^ static_cast<uint8_t>(each)) * 0x100000001b3;
  return hash;
}

}  // namespace crochet::inline v0::internal
