// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/open_checkpoint.h"
#include "crochet/checkpoint/any_format/internal/read_run.h"
#include "crochet/checkpoint/any_format/internal/stored_slices.h"
#include "crochet/checkpoint/format/internal/stored_tensors.h"
#include "crochet/tensor/tensor.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0::internal {

// A tensor, or a part of one, and the location of its bytes.
struct LocatedTensor {
  std::string_view name;      // Owned by the index.
  const StoredTensor* entry;  // Of the whole tensor.
  // Set for a part, and for a tensor that is stored in parts; otherwise the entry has the bytes.
  std::optional<TensorSlice> target = {};  // Resolved.
  std::vector<StoredSlice> parts = {};
};

// The implementation of CheckpointReader, for checkpoints of either format.
//
// Thread-safe.
class CheckpointContents {
 public:
  // Throws: as CheckpointReader's constructor.
  CheckpointContents(const std::string& prefix, FileSystem& files);
  // Those of a reader, for code that needs no copies of names and shapes.
  static const CheckpointContents& of(const CheckpointReader& reader) { return *reader.contents_; }

  const std::string& prefix() const { return prefix_; }
  const OpenCheckpoint& opened() const { return opened_; }
  const StoredTensors& stored() const { return opened_.tensors; }
  const TensorSource& data() const { return *opened_.data; }
  // The items without those of slices.
  std::span<const StoredTensors::Item> items() const { return items_; }
  // Null if no item has this name.
  const StoredTensors::Item* find(std::string_view name) const;
  // Throws: NotFoundError.
  const StoredTensors::Item& item(std::string_view name) const;
  // As in CheckpointReader; made by the first call, since programs that restore need no copy.
  const std::map<std::string, TensorInfo, std::less<>>& infos() const;
  const UnreadableValues& unreadable() const;
  // Throws: the error of a value that cannot be read.
  void check_readable(std::string_view name) const;

  // Finds a tensor, or with `slice` a part of it, and checks the locations of all its bytes, so
  // that memory may be allocated for them. Throws: as CheckpointReader::read_slice().
  LocatedTensor locate(std::string_view key, const TensorSlice* slice = nullptr) const {
    return locate(item(key), slice);
  }
  LocatedTensor locate(const StoredTensors::Item& item, const TensorSlice* slice = nullptr) const;
  // Reads it from the streams of `pass`, or separately if it was not announced there.
  // Throws: DataLossError; read_into() as CheckpointReader::read_into().
  Tensor read(const LocatedTensor& tensor, ReadRun& pass) const;
  void read_into(const LocatedTensor& tensor, ReadRun& pass,
                 std::span<std::byte> destination) const;
  // The tensor in the file's own pages, not verified; unset if it cannot be mapped.
  std::optional<Tensor> map(const LocatedTensor& tensor) const;

  // As in CheckpointReader.
  void verify() const;
  void verify(std::string_view key) const;

 private:
  // All slices of a tensor. They are found and compared once, since some readers request them one
  // by one.
  const std::vector<StoredSlice>& slices_of(const StoredTensors::Item& item) const;
  std::vector<StoredSlice> parts_of(const StoredTensors::Item& item,
                                    const TensorSlice& target) const;
  void read_numbers(const LocatedTensor& tensor, ReadRun& pass,
                    std::span<std::byte> destination) const;
  void read_entry(const StoredTensor& entry, std::string_view name, ReadRun& pass,
                  std::span<std::byte> destination) const;
  std::vector<std::string> read_strings(const LocatedTensor& tensor, ReadRun& pass) const;

  const std::string prefix_;
  const OpenCheckpoint opened_;
  const std::span<const StoredTensors::Item> items_;

  mutable std::mutex mutex_;  // Guards what follows.
  mutable std::optional<std::map<std::string, TensorInfo, std::less<>>> infos_;
  mutable std::optional<UnreadableValues> unreadable_;
  mutable std::map<const StoredTensors::Item*, std::vector<StoredSlice>> slices_;
};

}  // namespace crochet::inline v0::internal
