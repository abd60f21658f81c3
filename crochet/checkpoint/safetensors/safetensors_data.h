// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "crochet/checkpoint/layout/stored_tensor.h"
#include "crochet/checkpoint/layout/tensor_source.h"
#include "crochet/checkpoint/safetensors/safetensors_index.h"

namespace crochet::inline v0::internal {

// The data of safetensors files. Checksums are compared only in files that have them.
//
// Thread-safe.
class SafetensorsData final : public TensorSource {
 public:
  // `open` holds the files, by their indices in `files`.
  SafetensorsData(std::vector<SafetensorsFile> files, std::unique_ptr<OpenFiles> open)
      : files_(std::move(files)), open_(std::move(open)) {}

  void check_place(const StoredTensor& entry, std::string_view name) const override;
  std::unique_ptr<ReadStream> stream(int shard, uint64_t offset, uint64_t num_bytes) const override;
  std::unique_ptr<MappedBytes> map(const StoredTensor& entry) const override;
  void read(const StoredTensor& entry, std::string_view name, ReadStream& from,
            std::span<std::byte> destination) const override;
  std::vector<std::string> read_strings(const StoredTensor& entry, std::string_view name,
                                        ReadStream& from) const override;
  void verify(const StoredTensor& entry, std::string_view name, ReadStream& from) const override;

 private:
  class Input;

  const SafetensorsFile& file_of(const StoredTensor& entry) const {
    return files_[static_cast<size_t>(entry.shard)];
  }

  const std::vector<SafetensorsFile> files_;
  const std::unique_ptr<OpenFiles> open_;
};

}  // namespace crochet::inline v0::internal
