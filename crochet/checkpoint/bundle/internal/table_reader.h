// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace crochet::inline v0::internal {

// Reads a table (see table_format.h), and calls `use` with each entry in the order of the keys. The
// bytes are not trusted: each checksum is compared before its bytes are parsed, nothing outside is
// read, and memory stays in proportion to the file; but `use` is called before later blocks are
// checked. `file` is the name in messages.
// Throws: DataLossError with file, offset, found and expected values; UnimplementedError for
// compressed blocks; what `use` throws.
void read_table(std::string_view bytes, std::string_view file,
                const std::function<void(const std::string& key, std::string_view value)>& use);

}  // namespace crochet::inline v0::internal
