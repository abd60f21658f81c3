// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace crochet::internal {

// The bytes of an uncompressed table (table_reader.h has the grammar) with these
// entries, as TensorFlow's writer lays them out.
std::string encode_table(const std::map<std::string, std::string>& entries);

}  // namespace crochet::internal
