// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle_index.h"

#include "crochet/base/error.h"
#include "crochet/checkpoint/table_reader.h"

namespace crochet::internal {
namespace {

void check_shard(const BundleIndex& index, const std::string& name, const BundleEntry& entry,
                 std::string_view file) {
  if (entry.slices.empty() && entry.shard >= index.header.num_shards)
    throw DataLossError("{}: entry \"{}\" is in data file {}, the header says there are {}", file,
                        name, entry.shard, index.header.num_shards);
}

}  // namespace

BundleIndex read_bundle_index(FileSystem& files, const std::string& path) {
  return decode_bundle_index(read_file(files, path), path);
}

BundleIndex decode_bundle_index(std::string_view bytes, std::string_view file) {
  const TableEntries table = decode_table(bytes, file);
  if (table.empty() || !table.front().first.empty())
    throw DataLossError("{}: the table does not start with a bundle's header", file);
  BundleIndex index{decode_header(table.front().second, file), {}};
  for (auto item = table.begin() + 1; item != table.end(); ++item) {
    const auto& [name, value] = *item;
    BundleEntry entry = decode_entry(value, name, file);
    check_shard(index, name, entry, file);
    index.entries.emplace_hint(index.entries.end(), name, std::move(entry));
  }
  return index;
}

}  // namespace crochet::internal
