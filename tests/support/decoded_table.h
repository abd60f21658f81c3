// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/checkpoint/bundle/internal/table_reader.h"

namespace crochet::inline v0::internal {

// Key and value, in the order of the table.
using TableEntries = std::vector<std::pair<std::string, std::string>>;

// All entries of a table. Throws: as read_table().
inline TableEntries decode_table(std::string_view bytes, std::string_view file) {
  TableEntries entries;
  read_table(bytes, file, [&](const std::string& key, std::string_view value) {
    entries.emplace_back(key, value);
  });
  return entries;
}

}  // namespace crochet::inline v0::internal
