// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/base/read_bytes.h"
#include "crochet/io/file_system.h"
#include "crochet/tensor/tensor.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0 {

// What the checkpoints of a run are called in their directory: "model.ckpt" in
// "runs/digits/model.ckpt-2000". What is saved under such a name is found by every later start.
class CROCHET_EXPORT CheckpointBasename {
 public:
  // Throws: InvalidArgumentError as FileName; for a name of more than 128 bytes, to which files of
  // checkpoints append up to 100; and for a name whose checkpoints are not recognized in a listing,
  // such as "m-00001-of", since "m-00001-of-00000100.safetensors" is a part of a checkpoint "m".
  CheckpointBasename(std::string name);
  CheckpointBasename(const char* name) : CheckpointBasename(std::string(name)) {}

  const std::string& str() const { return name_.str(); }
  operator const std::string&() const { return name_; }

  friend bool operator==(const CheckpointBasename&, const CheckpointBasename&) = default;

 private:
  FileName name_;
};

// The format of a checkpoint's files.
enum class CheckpointFormat {
  kTensorBundle,  // TensorFlow's: `<prefix>.index` and data files.
  kSafetensors,   // `<prefix>.safetensors`, or several with an index; docs/safetensors_format.md.
  kTorch,         // A file of torch.save() or TorchScript, only to read; docs/torch_format.md.
};

// "tensor_bundle", "safetensors", "torch".
CROCHET_EXPORT const char* checkpoint_format_name(CheckpointFormat format);

// Where a file has the elements of a tensor.
struct StoredPlace {
  size_t file = 0;  // The number of the file among those of its checkpoint, or of those linked.
  int64_t offset = 0;
  int64_t size = 0;
  uint32_t masked_crc32c = 0;
};

// A tensor for a CheckpointWriter, and how to read its elements if its memory does not have them.
struct TensorToWrite {
  // Not explicit: most tensors have their elements.
  TensorToWrite(const Tensor& its, ReadBytes reads = {}) : tensor(its), read(std::move(reads)) {}

  // With its elements, for formats that need them more than once.
  Tensor in_memory() const {
    if (!read) return tensor;
    Tensor result(tensor.dtype(), tensor.shape());
    read(0, result.writable_bytes());
    return result;
  }

  const Tensor& tensor;
  ReadBytes read;
  // If set, the elements are here in one of the linked files, and are not written.
  std::optional<StoredPlace> linked = {};
};

// Writes a checkpoint of any format, so that it is either complete or absent, whatever stops the
// program or the machine.
//
//   const auto writer = new_checkpoint_writer(CheckpointFormat::kSafetensors, files, "runs/x/m-1");
//   for (const auto& [name, tensor] : tensors) writer->add(name, tensor);
//   writer->finish();
//
// No file has its final name before publish(). Without it, and after an error, the written files
// are removed; then every call throws FailedPreconditionError and a new writer is needed.
//
// Not thread-safe.
class CROCHET_EXPORT CheckpointWriter {
 public:
  virtual ~CheckpointWriter() = default;  // Never throws.

  // Throws: InvalidArgumentError for a name that the format does not allow or that was added
  // before, and for an unset tensor.
  virtual void add(std::string_view name, const TensorToWrite& tensor) = 0;
  // Adds a part of a tensor; readers see one tensor, and can read any part that was added.
  // Throws: as add(); InvalidArgumentError for a slice that reaches outside, overlaps another one
  // or does not match the tensor's shape, and if type or full shape differ from those of earlier
  // slices.
  virtual void add_slice(std::string_view name, const Shape& full_shape, const TensorSlice& slice,
                         const TensorToWrite& tensor) = 0;
  // True if TensorToWrite::read saves memory: add() calls it for each byte once, in order.
  virtual bool can_read() const { return false; }
  // Where the tensors are, in the order of the calls; empty if the format cannot link files.
  // Requires: write().
  virtual std::vector<StoredPlace> places() const { return {}; }
  // Ends this data file: later tensors go to the next one. Throws: InvalidArgumentError if this is
  // the last one.
  virtual void next_shard() = 0;

  // Returns once the operating system has the bytes of all tensors, under temporary names: they
  // would survive the end of this process. write_and_sync() includes this step.
  virtual void write() = 0;
  // Returns once all bytes would survive a power cut, under their temporary names.
  virtual void write_and_sync() = 0;
  // Gives the files their final names, the index last, which makes them a checkpoint. Returns once
  // the names would survive a power cut. Requires: write_and_sync().
  virtual void publish() = 0;
  // Calls write_and_sync() and publish().
  void finish() {
    write_and_sync();
    publish();
  }

  // The size of all files. Requires: write_and_sync().
  virtual uint64_t total_bytes() const = 0;
  // The number of data files, and the size of those that are linked, not written.
  virtual int num_files() const = 0;
  virtual uint64_t linked_bytes() const { return 0; }
  // The masked crc32c of the index: a bundle's index file, the length and header of a safetensors
  // file, or the index of several such files. Requires: write_and_sync().
  virtual uint32_t index_crc32c() const = 0;
};

struct NewCheckpointOptions {
  int num_shards = 1;
  // If known, the approximate size of each data file.
  std::vector<uint64_t> expected_bytes = {};
  // See BundleWriterOptions.
  std::vector<std::string> linked_files = {};
};

// `files` is not owned and must outlive the writer. Throws: InvalidArgumentError for no data files
// or more than 99999, for the format kTorch, and for linked files in any format but kTensorBundle;
// what FileSystem::link() throws.
CROCHET_EXPORT std::unique_ptr<CheckpointWriter> new_checkpoint_writer(
    CheckpointFormat format, FileSystem& files, std::string prefix,
    NewCheckpointOptions options = {});

}  // namespace crochet::inline v0
