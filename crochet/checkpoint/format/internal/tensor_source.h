// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/checkpoint/format/internal/open_files.h"
#include "crochet/checkpoint/format/internal/stored_tensor.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// The bytes of a checkpoint's tensors, in data files that are opened when they are first needed.
// Each file format derives from this.
//
// Thread-safe.
class TensorSource {
 public:
  virtual ~TensorSource() = default;

  // Throws: DataLossError if the data file is missing or ends before the entry's bytes.
  void check_place(const StoredTensor& entry, std::string_view name) const;
  // A stream of bytes of a data file from `offset` on.
  // Throws: DataLossError if the data file is missing.
  std::unique_ptr<ReadStream> stream(int shard, uint64_t offset, uint64_t num_bytes) const;
  // Maps an entry's bytes without reading them; null if that is not possible, for example for
  // elements in another order. Requires: check_place(), and a type of fixed size.
  virtual std::unique_ptr<MappedBytes> map(const StoredTensor& entry, std::string_view name) const;

  // Each of these reads all of an entry, at whose first byte `from` stands, or throws
  // DataLossError. Requires: check_place().
  //
  // Reads the elements in this machine's byte order and row-major, and checks their checksum.
  // Requires: a type of fixed size, and `destination` has the size of the elements.
  virtual void read(const StoredTensor& entry, std::string_view name, ReadStream& from,
                    std::span<std::byte> destination) const;
  // The same for strings. Requires: the type kString.
  virtual std::vector<std::string> read_strings(const StoredTensor& entry, std::string_view name,
                                                ReadStream& from) const = 0;
  // Checks only the checksum, if there is one. Requires: a type that can be read.
  virtual void verify(const StoredTensor& entry, std::string_view name, ReadStream& from) const;
  // Checks all checksums, where they are of other bytes than those of entries; false, having done
  // nothing, where they are of entries.
  virtual bool verify_all() const { return false; }

 protected:
  // `open` has the data files, by shard. `crcs_are_in` is for messages: "index".
  TensorSource(std::unique_ptr<OpenFiles> open, const char* crcs_are_in)
      : open_(std::move(open)), crcs_are_in_(crcs_are_in) {}

  virtual std::string path_of(int shard) const = 0;
  std::shared_ptr<const ReadableFile> open_file(int shard) const;
  virtual bool has_checksums(int) const { return true; }
  // False if the lengths of that number of strings take more bytes, whatever they are.
  virtual bool has_room_for(uint64_t num_strings, uint64_t num_bytes) const = 0;
  // Throws: DataLossError for another crc than the entry's, unless its file has no checksums.
  void compare_crc(uint32_t found, const StoredTensor& entry, std::string_view name) const;

 private:
  const std::unique_ptr<OpenFiles> open_;
  const char* const crcs_are_in_;
};

}  // namespace crochet::inline v0::internal
