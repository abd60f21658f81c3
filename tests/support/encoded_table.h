// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "crochet/checkpoint/bundle/internal/table_writer.h"

namespace crochet::inline v0::internal {

// For tests: a table with these entries.
inline std::string encode_table(const std::map<std::string, std::string>& entries) {
  TableWriter writer;
  for (const auto& [key, value] : entries) writer.add(key, value);
  return writer.finish();
}

}  // namespace crochet::inline v0::internal
