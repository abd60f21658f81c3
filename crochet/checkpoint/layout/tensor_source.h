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

#include "crochet/checkpoint/layout/stored_tensor.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// The bytes of a checkpoint's tensors, independent of the file format.
//
// Thread-safe.
class TensorSource {
 public:
  virtual ~TensorSource() = default;

  // Throws: DataLossError if the data file is missing or ends before the entry's bytes.
  virtual void check_place(const StoredTensor& entry, std::string_view name) const = 0;
  // A stream of bytes of a data file from `offset` on.
  // Throws: DataLossError if the data file is missing.
  virtual std::unique_ptr<ReadStream> stream(int shard, uint64_t offset,
                                             uint64_t num_bytes) const = 0;
  // Maps an entry's bytes without reading them; null if that is not possible, for example for
  // elements in another byte order. Requires: check_place(), and a type of fixed size.
  virtual std::unique_ptr<MappedBytes> map(const StoredTensor& entry) const = 0;

  // Each of these reads all of an entry, at whose first byte `from` stands, or throws
  // DataLossError. Requires: check_place().
  //
  // Reads the elements in this machine's byte order, and checks their checksum.
  // Requires: a type of fixed size, and `destination` has the entry's size.
  virtual void read(const StoredTensor& entry, std::string_view name, ReadStream& from,
                    std::span<std::byte> destination) const = 0;
  // The same for strings. Requires: the type kString.
  virtual std::vector<std::string> read_strings(const StoredTensor& entry, std::string_view name,
                                                ReadStream& from) const = 0;
  // Checks only the checksum, if there is one. Requires: a type that can be read.
  virtual void verify(const StoredTensor& entry, std::string_view name, ReadStream& from) const = 0;
};

}  // namespace crochet::inline v0::internal
