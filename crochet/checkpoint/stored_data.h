// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/bundle_format.h"

namespace crochet::internal {

// The bytes of a checkpoint's tensors, whatever files they are in.
//
// Thread-safe.
class StoredData {
 public:
  virtual ~StoredData() = default;

  // Throws: DataLossError if the data file is missing or ends before the entry's bytes.
  virtual void check_place(const BundleEntry& entry, std::string_view name) const = 0;
  // Reads an entry's elements in this machine's byte order and compares the checksum.
  // Requires: a type of fixed size, and `destination` has the entry's size.
  // Throws: DataLossError.
  virtual void read(const BundleEntry& entry, std::string_view name,
                    std::span<std::byte> destination) const = 0;
  // The same for strings. Requires: the type kString.
  virtual std::vector<std::string> read_strings(const BundleEntry& entry,
                                                std::string_view name) const = 0;
  // Compares the checksum of whatever the entry has stored.
  // Throws: DataLossError.
  virtual void verify(const BundleEntry& entry, std::string_view name) const = 0;
};

}  // namespace crochet::internal
