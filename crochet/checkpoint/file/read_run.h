// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "crochet/checkpoint/layout/stored_tensor.h"
#include "crochet/checkpoint/layout/tensor_source.h"

namespace crochet::internal {

// Reads entries of a bundle from streams that run ahead of them: what is announced is read in one
// go, file by file, if it is taken in the order of the files. What is taken in another order, or
// was not announced, is read by itself.
//
// Not thread-safe.
class ReadRun {
 public:
  // Announces entries. Requires: the places of the entries have been checked, and `data`
  // outlives this.
  explicit ReadRun(const TensorSource& data, const std::vector<const StoredTensor*>& entries = {});

  // True if the bytes of `a` are to be taken before those of `b`.
  static bool is_before(const StoredTensor& a, const StoredTensor& b);

  // Calls `read(stream)`, which reads all of the entry's bytes or throws; returns what it returns.
  template <typename Read>
  auto take(const StoredTensor& entry, const Read& read) {
    ReadStream* const running = running_at(entry);
    if (running == nullptr) return read(*open_alone(entry));
    try {
      return read(*running);
    } catch (...) {
      stream_.reset();  // It stands somewhere within the entry.
      throw;
    }
  }

 private:
  // Bytes of one data file that are read in one go.
  struct Run {
    int32_t shard;
    uint64_t begin;
    uint64_t end;
  };

  void add(const StoredTensor& entry);
  // The stream that runs, at the entry's first byte; null if it has none that leads there.
  ReadStream* running_at(const StoredTensor& entry);
  // Runs are opened one ahead: the disk has work while the end of one is taken.
  void begin_run(size_t run);
  std::unique_ptr<ReadStream> open(size_t run) const;
  std::unique_ptr<ReadStream> open_alone(const StoredTensor& entry) const;

  const TensorSource& data_;
  std::vector<Run> runs_;  // In the order of the files; none touches another.
  size_t current_ = 0;
  std::unique_ptr<ReadStream> stream_;  // Of the current run; null before the first one and after
                                        // an error.
  uint64_t position_ = 0;               // In the file, of that stream.
  std::unique_ptr<ReadStream> next_;    // Of the run behind it, if there is one.
};

}  // namespace crochet::internal
