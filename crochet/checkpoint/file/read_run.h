// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "crochet/checkpoint/layout/stored_tensor.h"
#include "crochet/checkpoint/layout/tensor_source.h"

namespace crochet::inline v0::internal {

// Reads entries of a checkpoint from streams that read ahead: announced entries are read in one
// pass over the files of each disk, if they are taken in the order of the files; of several disks
// in turns. Entries taken in another order, or not announced, are read separately.
//
// Not thread-safe.
class ReadRun {
 public:
  // Announces entries. Requires: the locations of the entries have been checked, and `data`
  // outlives this.
  explicit ReadRun(const TensorSource& data, const std::vector<const StoredTensor*>& entries = {});

  // True if `a` comes before `b` in the order of the files.
  static bool is_before(const StoredTensor& a, const StoredTensor& b);
  // Sorts items, which are in the order of the files, into the order in which their announced
  // entries are to be taken: several disks are then read ahead at the same time. `entry_of(item)`
  // is null for an item that needs none.
  template <typename Item, typename EntryOf>
  void sort_by_turn(std::vector<Item>& items, const EntryOf& entry_of) const {
    if (disks_.size() < 2) return;
    std::vector<std::pair<uint64_t, Item>> by_turn;
    by_turn.reserve(items.size());
    for (const Item& item : items) {
      const StoredTensor* const entry = entry_of(item);
      by_turn.emplace_back(entry == nullptr ? 0 : turn_of(*entry), item);
    }
    std::ranges::stable_sort(by_turn, {}, &std::pair<uint64_t, Item>::first);
    std::ranges::transform(by_turn, items.begin(), &std::pair<uint64_t, Item>::second);
  }

  // Calls `read(stream)`, which reads all of the entry's bytes or throws; returns its result.
  template <typename Read>
  auto take(const StoredTensor& entry, const Read& read) {
    Disk* const disk = disk_at(entry);
    if (disk == nullptr) return read(*open_alone(entry));
    try {
      return read(*disk->stream);
    } catch (...) {
      disk->stream.reset();  // Its position is somewhere within the entry.
      throw;
    }
  }

 private:
  // Bytes of one data file that are read in one pass.
  struct Run {
    int32_t shard;
    uint64_t begin;
    uint64_t end;
    uint64_t num_before;  // Bytes of earlier runs on the same disk.
  };
  // The runs of one disk, and how far they have been read.
  struct Disk {
    std::vector<Run> runs;  // In the order of the files, with gaps between them.
    size_t current = 0;
    std::unique_ptr<ReadStream> stream;  // Of the current run; null before the first one and after
                                         // an error.
    uint64_t position = 0;               // Of that stream, in the file.
    std::unique_ptr<ReadStream> next;    // Of the next run, if there is one.
  };

  void add(const StoredTensor& entry);
  // The number of the turn in which an announced entry is taken.
  uint64_t turn_of(const StoredTensor& entry) const;
  // The disk and run that contain an entry; null if it was not announced.
  std::pair<size_t, const Run*> find(const StoredTensor& entry) const;
  // The disk of an entry, whose stream is moved to the entry's first byte; null if no stream leads
  // there.
  Disk* disk_at(const StoredTensor& entry);
  // Opens one run ahead, so that the disk is busy while the end of the current run is processed.
  void begin_run(Disk& disk, size_t run);
  std::unique_ptr<ReadStream> open(const Disk& disk, size_t run) const;
  std::unique_ptr<ReadStream> open_alone(const StoredTensor& entry) const;

  const TensorSource& data_;
  std::vector<Disk> disks_;
  std::map<int32_t, size_t> disk_of_shard_;     // Indices of disks_.
  std::map<std::string, size_t> disk_of_name_;  // By TensorSource::disk_of().
};

}  // namespace crochet::inline v0::internal
