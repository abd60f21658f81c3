// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/io/file_system.h"
#include "crochet/tensor/tensor.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet {

// The files that make a checkpoint.
enum class CheckpointFormat {
  kTensorBundle,  // TensorFlow's: `<prefix>.index` and data files.
  kSafetensors,   // `<prefix>.safetensors`, or several with an index; docs/safetensors_format.md.
};

// "tensor_bundle", "safetensors".
const char* checkpoint_format_name(CheckpointFormat format);

// Writes a checkpoint of some format, so that it is whole or not there, whatever stops the program
// or the machine.
//
//   const auto writer = new_checkpoint_writer(CheckpointFormat::kSafetensors, files, "runs/x/m-1");
//   for (const auto& [name, tensor] : tensors) writer->add(name, tensor);
//   writer->finish();
//
// Nothing has its final name before publish(). Without it, and after an error, what was written is
// removed; then every call throws FailedPreconditionError and a new writer is needed.
//
// Not thread-safe.
class CheckpointWriter {
 public:
  virtual ~CheckpointWriter() = default;  // Never throws.

  // Throws: InvalidArgumentError for a name that the format cannot have or that was added
  // before, and for an unset tensor.
  virtual void add(std::string_view name, const Tensor& tensor) = 0;
  // Adds a part of a tensor; readers see one tensor, of which they find whatever part was added.
  // Throws: as add(); InvalidArgumentError for a slice that reaches outside, overlaps another one
  // or has not the tensor's shape, and if type or full shape differ from those of the slices
  // before.
  virtual void add_slice(std::string_view name, const Shape& full_shape, const TensorSlice& slice,
                         const Tensor& tensor) = 0;
  // Ends this data file: what is added from now on goes to the next one. Throws:
  // InvalidArgumentError if this is the last one.
  virtual void next_shard() = 0;

  // Returns once the operating system has the bytes of all tensors, under temporary names: they
  // would survive the end of this process. write_and_sync() does so too.
  virtual void write() = 0;
  // Returns once all bytes would survive a power cut, under their temporary names.
  virtual void write_and_sync() = 0;
  // Gives the files their final names, the one that makes it a checkpoint last. Returns once the
  // names would survive a power cut. Requires: write_and_sync().
  virtual void publish() = 0;
  // Both.
  void finish() {
    write_and_sync();
    publish();
  }

  // Of all files. Requires: write_and_sync().
  virtual uint64_t total_bytes() const = 0;
  // The masked crc32c of what says where the tensors are: a bundle's index file, the length and
  // header of a safetensors file, the index of several. Requires: write_and_sync().
  virtual uint32_t index_crc32c() const = 0;
};

}  // namespace crochet
