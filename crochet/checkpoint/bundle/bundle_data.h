// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/bundle/bundle_format.h"
#include "crochet/checkpoint/layout/open_files.h"
#include "crochet/checkpoint/layout/stored_tensor.h"
#include "crochet/checkpoint/layout/tensor_source.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// The data files of a bundle, opened when they are first needed.
//
// Thread-safe.
class BundleData final : public TensorSource {
 public:
  BundleData(FileSystem& files, std::string prefix, BundleHeader header)
      : prefix_(std::move(prefix)), header_(std::move(header)), open_(files) {}

  void check_place(const StoredTensor& entry, std::string_view name) const override;
  std::unique_ptr<ReadStream> stream(int shard, uint64_t offset, uint64_t num_bytes) const override;
  std::unique_ptr<MappedBytes> map(const StoredTensor& entry) const override;
  void read(const StoredTensor& entry, std::string_view name, ReadStream& from,
            std::span<std::byte> destination) const override;
  std::vector<std::string> read_strings(const StoredTensor& entry, std::string_view name,
                                        ReadStream& from) const override;
  void verify(const StoredTensor& entry, std::string_view name, ReadStream& from) const override;

 private:
  // Calls `use` with the path of the data file, which it may open, and returns its result.
  // Throws: DataLossError if the file is missing.
  template <typename Use>
  auto with_file(int shard, const Use& use) const;
  std::string filename(const StoredTensor& entry) const;
  bool is_of_this_order() const;
  void compare_crc(uint32_t found, const StoredTensor& entry, std::string_view name) const;

  const std::string prefix_;
  const BundleHeader header_;
  mutable OpenFiles open_;
};

}  // namespace crochet::inline v0::internal
