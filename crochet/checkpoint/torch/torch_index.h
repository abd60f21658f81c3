// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "crochet/checkpoint/layout/open_files.h"
#include "crochet/checkpoint/layout/stored_tensors.h"
#include "crochet/checkpoint/torch/zip_directory.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// A file of torch.save(), torch.jit.save() or LibTorch's torch::save() is a zip archive:
//
//   <root>/data.pkl                        a pickle: containers, numbers, strings, tensors
//   <root>/data/<key>                      the elements of a storage; tensors refer to it
//   <root>/byteorder                       "little"; older files have none
//   <root>/constants.pkl, <root>/code/...  only in a TorchScript archive
//
// Others are not read. The checkpoint has a tensor for each value; docs/torch_format.md describes
// the names.

struct TorchStorage {
  std::string name;  // Of the zip entry.
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
  // Distances of neighbors in elements, for each dimension; empty if the elements are row-major
  // without holes.
  std::vector<int64_t> strides = {};

  static constexpr int32_t kNoStorage = -1;
};

struct TorchIndex {
  std::string path;
  std::unique_ptr<OpenFiles> open;  // The file, with number 0.
  // An offset is relative to the file. The size is that of the bytes from the first to the last
  // element, which may be fewer than the elements need, or more. The type is kInvalid if DType has
  // no equivalent.
  StoredTensors::Map tensors;
  std::map<std::string, TorchLayout, std::less<>> layouts;  // Of all tensors.
  std::vector<TorchStorage> storages;
  bool has_checksums = true;
};

// True for a plain file that begins like torch's, also those before 1.6, or is named .pt or .pth.
bool is_torch_file(FileSystem& files, const std::string& path);

// Reads the zip directory and the pickle.
// Throws: NotFoundError; DataLossError for what violates the formats; UnimplementedError for what
// torch can read but this cannot: files before torch 1.6, big-endian ones, and values that are
// neither tensors, numbers, strings nor containers of these.
TorchIndex read_torch(FileSystem& files, const std::string& path);

}  // namespace crochet::inline v0::internal
