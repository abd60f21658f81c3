// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/bundle_format.h"
#include "crochet/checkpoint/stored_data.h"
#include "crochet/io/file_system.h"

namespace crochet::internal {

// The data files of a bundle, opened when they are first needed.
//
// Thread-safe.
class BundleData final : public StoredData {
 public:
  BundleData(FileSystem& files, std::string prefix, BundleHeader header)
      : files_(files), prefix_(std::move(prefix)), header_(std::move(header)) {}

  void check_place(const BundleEntry& entry, std::string_view name) const override;
  std::unique_ptr<ReadStream> stream(int shard, uint64_t offset, uint64_t num_bytes) const override;
  std::unique_ptr<MappedBytes> map(const BundleEntry& entry) const override;
  void read(const BundleEntry& entry, std::string_view name, ReadStream& from,
            std::span<std::byte> destination) const override;
  std::vector<std::string> read_strings(const BundleEntry& entry, std::string_view name,
                                        ReadStream& from) const override;
  void verify(const BundleEntry& entry, std::string_view name, ReadStream& from) const override;

 private:
  struct OpenFile {
    std::unique_ptr<ReadableFile> file;
    uint64_t size = 0;  // When it was opened; what has gone since is found by reading.
  };
  const OpenFile& file(int shard) const;
  std::string filename(const BundleEntry& entry) const;
  bool is_of_this_order() const;
  void compare_crc(uint32_t found, const BundleEntry& entry, std::string_view name) const;

  FileSystem& files_;  // Not owned; outlives this.
  const std::string prefix_;
  const BundleHeader header_;

  mutable std::mutex mutex_;  // Guards what follows.
  mutable std::map<int, OpenFile> open_;
};

}  // namespace crochet::internal
