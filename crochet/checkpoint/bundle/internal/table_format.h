// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace crochet::inline v0::internal {

// A table in LevelDB's format, as used for TensorFlow's index files. Keys are strictly increasing.
//
//   table   := block* metaindex:block index:block footer
//   block   := content type:u8 crc:u32le     crc is the masked crc32c of content and type;
//                                            type is 0; or 1 for content packed by Snappy,
//                                            which crochet neither writes nor reads
//   content := entry* restart:u32le* num_restarts:u32le
//   entry   := shared:varint32 unshared:varint32 value_bytes:varint32 key_tail:byte* value:byte*
//              The key is the first `shared` bytes of the previous key, then key_tail.
//   restart := the place in the content of an entry with shared = 0
//   handle  := offset:varint64 size:varint64   of a block's content
//   footer  := handle handle zero-padding-to-40-bytes magic:u64le
//              The handles refer to metaindex and index.
//
// The values in the index block are the handles of the data blocks, in order.
inline constexpr char kTablePlainBlock = 0;
inline constexpr char kTableSnappyBlock = 1;
inline constexpr size_t kTableFooterBytes = 48;
inline constexpr uint32_t kTableMagicLow = 0x8b80fb57;
inline constexpr uint32_t kTableMagicHigh = 0xdb477524;

}  // namespace crochet::inline v0::internal
