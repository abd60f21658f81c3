// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace crochet::inline v0::internal {

// The bytes of an uncompressed table (see table_reader.h for the grammar) with these
// entries, in the same layout as TensorFlow's writer.
std::string encode_table(const std::map<std::string, std::string>& entries);

}  // namespace crochet::inline v0::internal
