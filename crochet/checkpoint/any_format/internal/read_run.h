// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "crochet/checkpoint/format/internal/stored_tensor.h"
#include "crochet/checkpoint/format/internal/tensor_source.h"

namespace crochet::inline v0::internal {

// Reads entries of a checkpoint from streams that read ahead: announced entries are read in one
// pass, file by file, if they are taken in the order of the files. Entries taken in another order,
// or not announced, are read separately.
//
// Not thread-safe.
class ReadRun {
 public:
  // Announces entries. Requires: the locations of the entries have been checked, and `data`
  // outlives this.
  explicit ReadRun(const TensorSource& data, const std::vector<const StoredTensor*>& entries = {});

  // True if the bytes of `a` should be taken before those of `b`.
  static bool is_before(const StoredTensor& a, const StoredTensor& b);

  // Calls `read(stream)`, which reads all of the entry's bytes or throws; returns its result.
  template <typename Read>
  auto take(const StoredTensor& entry, const Read& read) {
    ReadStream* const running = running_at(entry);
    if (running == nullptr) return read(*open_alone(entry));
    try {
      return read(*running);
    } catch (...) {
      stream_.reset();  // Its position is somewhere within the entry.
      throw;
    }
  }

 private:
  // Bytes of one data file that are read in one pass.
  struct Run {
    int32_t shard;
    uint64_t begin;
    uint64_t end;
  };

  void add(const StoredTensor& entry);
  // The current stream, moved to the entry's first byte; null if no stream leads there.
  ReadStream* running_at(const StoredTensor& entry);
  // Opens one run ahead, so that the disk is busy while the end of the current run is processed.
  void begin_run(size_t run);
  std::unique_ptr<ReadStream> open(size_t run) const;
  std::unique_ptr<ReadStream> open_alone(const StoredTensor& entry) const;

  const TensorSource& data_;
  std::vector<Run> runs_;  // In the order of the files, with gaps between them.
  size_t current_ = 0;
  std::unique_ptr<ReadStream> stream_;  // Of the current run; null before the first one and after
                                        // an error.
  uint64_t position_ = 0;               // Of that stream, in the file.
  std::unique_ptr<ReadStream> next_;    // Of the next run, if there is one.
};

}  // namespace crochet::inline v0::internal
