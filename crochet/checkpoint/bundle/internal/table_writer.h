// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crochet::inline v0::internal {

// Encodes an uncompressed table (see table_format.h): the same bytes that TensorFlow's writer
// gives, of which the place of every block's end and every restart is part.
class TableWriter {
 public:
  // Requires: the key comes after all others.
  void add(std::string_view key, std::string_view value);
  // The table with all entries. Call it once.
  std::string finish();

 private:
  class Block {
   public:
    // Keys are stored without what they share with the one before, except one in each interval.
    explicit Block(size_t restart_interval) : restart_interval_(restart_interval) {}

    void add(std::string_view key, std::string_view value);
    bool empty() const { return num_entries_ == 0; }
    size_t num_bytes() const { return entries_.size() + sizeof(uint32_t) * (restarts_.size() + 1); }
    const std::string& last_key() const { return last_key_; }
    // Moves the block to the end of `table`. Returns its handle.
    std::string move_to(std::string& table);

   private:
    const size_t restart_interval_;
    std::string entries_;
    std::vector<uint32_t> restarts_;
    size_t num_entries_ = 0;
    std::string last_key_;
  };

  static constexpr size_t kRestartInterval = 16;

  std::string table_;
  Block data_{kRestartInterval};
  Block index_{1};
};

}  // namespace crochet::inline v0::internal
