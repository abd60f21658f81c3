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

// Reads a table in LevelDB's format, as used for TensorFlow's index files. The
// bytes are not trusted: each checksum is compared before its bytes are parsed,
// nothing outside is read, and memory stays in proportion to the file.
//
//   table   := block* metaindex:block index:block footer
//   block   := content type:u8 crc:u32le     crc is the masked crc32c of content and type;
//                                            type is 0, or 1 for content packed by Snappy
//   content := entry* restart:u32le* num_restarts:u32le
//   entry   := shared:varint32 unshared:varint32 value_bytes:varint32 key_tail:byte* value:byte*
//              The key is the first `shared` bytes of the previous key, then key_tail.
//   handle  := offset:varint64 size:varint64   of a block's content
//   footer  := handle handle zero-padding-to-40-bytes magic:u64le
//              The handles refer to metaindex and index.
//
// The values in the index block are the handles of the data blocks, in order.
// Keys are strictly increasing. `file` is the name in messages.
// Throws: DataLossError with file, offset, found and expected values.
TableEntries decode_table(std::string_view bytes, std::string_view file);

}  // namespace crochet::inline v0::internal
