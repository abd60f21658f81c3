// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/bundle/internal/bundle_format.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/format/internal/stored_tensor.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/crc32c.h"
#include "tests/support/encoded_table.h"

// For tests: bundles built byte by byte.
namespace crochet::inline v0::internal {

inline void put_file(FileSystem& files, const std::string& path, std::string_view content) {
  const auto file = files.create(path);
  file->append(content);
  file->sync();
  file->close();
}

// Converts "01 ab" to two bytes; ignores anything but hex digits.
inline std::string from_hex(std::string_view hex) {
  std::string digits;
  for (const char c : hex)
    if (std::string_view("0123456789abcdef").find(c) != std::string_view::npos) digits += c;
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

inline std::string zeros(size_t count) { return std::string(count, '\0'); }

// The worked example of docs/bundle_format.md: `global_step` int64 scalar 7; `tags`
// strings {"ab", ""}; `w` float32 [2,3] = 1..6.
inline std::string example_data() {
  return from_hex(
      "07 00 00 00 00 00 00 00"
      "02 00 | 78 27 0b 34 | 61 62"
      "00 00 80 3f 00 00 00 40 00 00 40 40"
      "00 00 80 40 00 00 a0 40 00 00 c0 40");
}
inline std::string example_index() {
  return from_hex(
             "00 00 06 | 08 01 1a 02 08 01"
             "00 0b 0b | 67 6c 6f 62 61 6c 5f 73 74 65 70"
             "08 09 12 00 28 08 35 bb d7 9f 11"
             "00 04 11 | 74 61 67 73"
             "08 07 12 04 12 02 08 02 20 08 28 08 35 91 88 b0 4d"
             "00 01 15 | 77"
             "08 01 12 08 12 02 08 02 12 02 08 03 20 10 28 18 35 7a eb f5 ab"
             "00 00 00 00 | 01 00 00 00 | 00 | 73 95 9b d7"
             "00 00 00 00 01 00 00 00 | 00 | c0 f2 a1 b0"
             "00 01 02 | 78 | 00 5b | 00 00 00 00 | 01 00 00 00 | 00 | c2 4d cf 09"
             "60 08 | 6d 0e") +
         zeros(36) + from_hex("57 fb 80 8b 24 75 47 db");
}
inline void put_example(FileSystem& files, const std::string& prefix) {
  put_file(files, index_filename(prefix), example_index());
  put_file(files, data_filename(prefix, 0, 1), example_data());
}

// A bundle of any header and entries.
struct RawBundle {
  BundleHeader header = {};
  std::map<std::string, StoredTensor> entries = {};
  std::vector<std::string> shards = {};

  // Appends `bytes` to the shard of `entry`, and sets the entry's offset, size and checksum.
  void add(const std::string& name, StoredTensor entry, std::string_view bytes) {
    if (shards.size() <= static_cast<size_t>(entry.shard)) shards.resize(entry.shard + 1);
    std::string& shard = shards[static_cast<size_t>(entry.shard)];
    entry.offset = static_cast<int64_t>(shard.size());
    entry.size = static_cast<int64_t>(bytes.size());
    if (entry.masked_crc32c == 0) entry.masked_crc32c = mask_crc32c(crc32c(bytes));
    entries[name] = entry;
    shard += bytes;
  }

  void put(FileSystem& files, const std::string& prefix) const {
    std::map<std::string, std::string> table{{"", encode(header)}};
    for (const auto& [name, entry] : entries) table[name] = encode(entry);
    put_file(files, index_filename(prefix), encode_table(table));
    for (size_t i = 0; i < shards.size(); ++i)
      put_file(files, data_filename(prefix, static_cast<int>(i), header.num_shards), shards[i]);
  }
};

}  // namespace crochet::inline v0::internal
