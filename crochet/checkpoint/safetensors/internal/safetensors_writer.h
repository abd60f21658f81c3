// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/format/internal/added_tensors.h"
#include "crochet/checkpoint/format/internal/staged_files.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0::internal {

struct SafetensorsWriterOptions {
  // The number of data files: one is `<prefix>.safetensors`; several have an index in addition.
  int num_shards = 1;
  // Puts checksums of header and tensors into the metadata, to be verified by CheckpointReader.
  // Without them, a file of whole tensors of the format's own types is identical to that of
  // Python's package.
  bool checksums = true;
  // Additional entries for `__metadata__` of every data file: {"format", "pt"}.
  std::map<std::string, std::string, std::less<>> metadata = {};
};

// Writes a checkpoint in the safetensors format.
//
//   SafetensorsWriter writer(FileSystem::posix(), "runs/digits/model.ckpt-2000");
//   writer.add("model/w1", w1);
//   writer.finish();  // runs/digits/model.ckpt-2000.safetensors
//
// Tensors are held (their memory is shared) until they are written: the format stores them sorted
// by type and name after a header that describes all of them, including checksums, so each is read
// twice. Use add_later() for tensors that together exceed the memory.
// Strings and types that the format does not have are stored as bytes, slices as separate tensors,
// all with a note in the metadata; see docs/safetensors_format.md.
//
// Not thread-safe.
class CROCHET_EXPORT SafetensorsWriter final : public CheckpointWriter {
 public:
  // Creates the directory if it is missing. `files` is not owned and must outlive this.
  // Throws: InvalidArgumentError for no data files or more than 99999, and for reserved metadata
  // ("crochet.*").
  SafetensorsWriter(FileSystem& files, std::string prefix, SafetensorsWriterOptions options = {});
  ~SafetensorsWriter() override;
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  // Names are UTF-8 and not "__metadata__". Throws: as CheckpointWriter; also InvalidArgumentError
  // if something needs a note and there are no checksums.
  void add(std::string_view name, const TensorToWrite& added) override;
  // Adds a tensor that is not held: `read` returns it now, and again when it is written, so that
  // only one at a time is in memory. Throws: as add(); what `read` throws; when it is written,
  // DataLossError if it has changed.
  void add_later(std::string_view name, std::function<Tensor()> read);
  // Other readers see the slice as a tensor "<name>[<slice>]".
  void add_slice(std::string_view name, const Shape& full_shape, const TensorSlice& slice,
                 const TensorToWrite& added) override;
  void next_shard() override;

  // Throws: InvalidArgumentError if a header is larger than the format allows.
  void write() override;
  void write_and_sync() override;
  // A single data file replaces another with the same prefix in one step; with several, the old
  // index is removed first.
  void publish() override;

  int num_files() const override { return options_.num_shards; }
  uint64_t total_bytes() const override { return total_bytes_; }
  uint32_t index_crc32c() const override { return index_crc32c_; }

  // Throws: InvalidArgumentError for a name or a tensor that the format cannot have.
  static void check_can_store(const std::string& prefix, std::string_view name,
                              const Tensor& tensor);

 private:
  struct Item;

  void check_name(std::string_view name) const;
  // `read` provides the tensor later; null for a tensor that is held.
  // Throws: InvalidArgumentError if small elements do not fill their last byte.
  void store(std::string name, const Tensor& tensor, std::function<Tensor()> read = {});
  std::string final_name(int shard) const;
  using NamedItems = std::vector<std::pair<std::string_view, const Item*>>;
  std::string encode_header(int shard, NamedItems& items) const;
  void write_shard(int shard);
  // Throws: DataLossError if it no longer matches the header.
  Tensor read_again(std::string_view name, const Item& item) const;
  void write_index();

  const std::string prefix_;
  const SafetensorsWriterOptions options_;

  int shard_ = 0;  // The shard to which tensors are added.
  std::map<std::string, Item, std::less<>> items_;
  AddedTensors added_;
  std::vector<uint32_t> header_crcs_;  // Of the shards, as in the metadata.
  uint64_t data_bytes_ = 0;
  uint64_t total_bytes_ = 0;
  uint32_t index_crc32c_ = 0;
  StagedFiles staged_;
};

}  // namespace crochet::inline v0::internal
