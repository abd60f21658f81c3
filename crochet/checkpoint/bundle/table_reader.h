// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crochet::inline v0::internal {

// Key and value, sorted by key.
using TableEntries = std::vector<std::pair<std::string, std::string>>;

// Reads a table (see table_format.h). The bytes are not trusted: each checksum is compared before
// its bytes are parsed, nothing outside is read, and memory stays in proportion to the file.
// `file` is the name in messages.
// Throws: DataLossError with file, offset, found and expected values; UnimplementedError for
// compressed blocks.
TableEntries decode_table(std::string_view bytes, std::string_view file);

}  // namespace crochet::inline v0::internal
