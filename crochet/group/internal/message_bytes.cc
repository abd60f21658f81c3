// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/group/internal/message_bytes.h"

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {

std::string_view MessageReader::take(size_t length) {
  if (length > rest_.size())
    throw DataLossError(fmt::format(
        "a message of the group ends early: found {} bytes, expected {}", rest_.size(), length));
  const std::string_view taken = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return taken;
}

int64_t MessageReader::number() {
  const std::string_view bytes = take(sizeof(int64_t));
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  return static_cast<int64_t>(value);
}

std::string_view MessageReader::text() { return take(static_cast<size_t>(number())); }

}  // namespace crochet::inline v0::internal
