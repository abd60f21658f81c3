// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "crochet/checkpoint/format/internal/open_files.h"
#include "crochet/checkpoint/format/internal/stored_tensors.h"
#include "crochet/checkpoint/format/unreadable_value.h"
#include "crochet/checkpoint/torch/internal/zip_directory.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// A file of torch.save(), torch.jit.save() or LibTorch's torch::save() is a zip archive:
//
//   <root>/data.pkl                        a pickle: containers, numbers, strings, tensors
//   <root>/data/<key>                      the elements of a storage; tensors refer to it
//   <root>/byteorder                       "little"; older files have none
//   <root>/constants.pkl, <root>/code/...  only in a TorchScript archive
//
// Others are not read. Before torch 1.6, and with an option since, it is five pickles and the
// storages: torch_legacy.h. The checkpoint has a tensor for each value; docs/torch_format.md
// describes the names.

struct TorchStorage {
  std::string name;  // For messages: of the zip entry.
  ZipEntry entry;
};

// What a StoredTensor cannot say about the elements of a tensor.
struct TorchLayout {
  // Of numbers and strings in the pickle itself; then there is no storage.
  std::vector<std::byte> numbers = {};
  std::vector<std::string> strings = {};
  // The index of the storage.
  int32_t storage = kNoStorage;
  size_t element_size = 0;
  uint64_t offset = 0;  // Of the first element in the storage, in bytes.
  // Distances of neighbors in elements, for each dimension; empty if the elements are row-major
  // without holes.
  std::vector<int64_t> strides = {};

  static constexpr int32_t kNoStorage = -1;
};

struct TorchIndex {
  std::string path;
  std::unique_ptr<OpenFiles> open;  // The file, with number 0.
  // An offset is relative to the file. The size is that of elements that are row-major without
  // holes, otherwise 0: TorchLayout has their place. The type is kInvalid if DType has no
  // equivalent.
  StoredTensors::Map tensors = {};
  std::map<std::string, TorchLayout, std::less<>> layouts = {};  // Of all tensors.
  // Other values, and tensors whose elements cannot be read.
  UnreadableValues unreadable = {};
  std::vector<TorchStorage> storages = {};                           // All of the file.
  std::map<std::string, int32_t, std::less<>> storages_by_key = {};  // As the pickle names them.
  bool has_checksums = true;
};

// True for a plain file that begins like torch's, of any version.
bool is_torch_file(const ReadableFile& file);

// Reads the zip directory and the pickle. Values that are neither tensors, numbers, strings nor
// containers of these become unreadable, and so do those that contradict the file; they do not
// prevent the others from being read.
// Throws: NotFoundError; DataLossError for what violates the formats; UnimplementedError for a
// big-endian file, a compressed pickle, and a file that is not of torch.
TorchIndex read_torch(FileSystem& files, const std::string& path);

}  // namespace crochet::inline v0::internal
