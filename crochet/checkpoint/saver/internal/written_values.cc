// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/written_values.h"

#include <algorithm>

#include "crochet/checkpoint/bundle/internal/bundle_format.h"
#include "crochet/checkpoint/directory/internal/disk_space.h"

namespace crochet::inline v0::internal {
namespace {

// The data file that contains the middle of an entry, if all files have the same size.
int shard_of(size_t begin, size_t size, size_t total, int num_shards) {
  if (total == 0) return 0;
  const double middle = static_cast<double>(begin) + static_cast<double>(size) / 2;
  return std::min(num_shards - 1,
                  static_cast<int>(middle / static_cast<double>(total) * num_shards));
}

}  // namespace

std::vector<uint64_t> bytes_of_shards(const Snapshot& snapshot, int num_shards,
                                      const UnchangedValues& unchanged) {
  std::vector<uint64_t> bytes(static_cast<size_t>(num_shards));
  const size_t total = snapshot.num_bytes() - unchanged.num_bytes;
  size_t done = 0;
  for (const auto& [name, tensor] : snapshot.readable()) {
    if (unchanged.place_of(name)) continue;
    const int shard = shard_of(done, tensor.num_bytes(), total, num_shards);
    bytes[static_cast<size_t>(shard)] += max_stored_bytes(tensor);
    done += tensor.num_bytes();
  }
  return bytes;
}

uint64_t bytes_to_write(const Snapshot& snapshot, const UnchangedValues& unchanged) {
  return bytes_of_checkpoint(snapshot) - unchanged.num_bytes;
}

VariableSelection::Place place_of(const std::string& name, const SaveSource& source,
                                  const VariableSelection& selection) {
  VariableSelection::Place place = selection.place_of(name);
  if (place.slice == nullptr) place.slice = source.place_of(name);
  return place;
}

void add_all(CheckpointWriter& writer, const SaveSource& source, const VariableSelection& selection,
             int num_shards, const UnchangedValues& unchanged) {
  const Snapshot& snapshot = source.snapshot();
  const size_t total = snapshot.num_bytes() - unchanged.num_bytes;
  size_t done = 0;
  int shard = 0;
  const bool in_place = writer.can_read();
  for (const auto& [name, tensor] : in_place ? snapshot.readable() : snapshot.tensors()) {
    TensorToWrite added(tensor);
    added.linked = unchanged.place_of(name);
    if (!added.linked) {
      for (; shard < shard_of(done, tensor.num_bytes(), total, num_shards); ++shard)
        writer.next_shard();
      done += tensor.num_bytes();
      if (in_place) added.read = snapshot.pending(tensor);
    }
    const auto [key, slice] = place_of(name, source, selection);
    if (slice == nullptr)
      writer.add(key, added);
    else
      writer.add_slice(key, slice->full_shape, slice->slice, added);
  }
}

}  // namespace crochet::inline v0::internal
