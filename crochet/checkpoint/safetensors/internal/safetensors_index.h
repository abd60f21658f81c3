// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/format/internal/open_files.h"
#include "crochet/checkpoint/format/internal/stored_tensors.h"
#include "crochet/checkpoint/format/unreadable_value.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_format.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_notes.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// The index of a checkpoint in several safetensors files, in the usual JSON format:
//
//   {"metadata": {"total_size": bytes, ...}, "weight_map": {tensor: file name, ...}}
//
// Crochet writes crochet.index_crc32c, and crochet.header_crc32c.<file name> for each file, to the
// metadata, so that no file can be mistaken for another. Such an index must describe exactly what
// its files have. That of another writer need not: what they have is read, the map decides between
// files, and what is missing is unreadable.
struct ShardIndex {
  uint64_t total_size = 0;
  std::map<std::string, std::string, std::less<>> weight_map;
  std::map<std::string, uint32_t, std::less<>> header_crcs;  // Empty: no checksums.
};
std::string encode(const ShardIndex& index);
// For untrusted bytes; ignores what it does not know. The names of files are any text.
// Throws: DataLossError.
ShardIndex decode_shard_index(std::string_view text, std::string_view file);

// A data file and its decoded header.
struct SafetensorsFile {
  std::string path;
  std::shared_ptr<const ReadableFile>
      file;  // Null in a SafetensorsIndex, which has them in `open`.
  uint64_t data_offset = 0;
  SafetensorsHeader header;
  std::optional<std::vector<uint32_t>> crcs = {};  // Of the tensors, in the header's order.
  uint32_t header_crc = 0;                         // Set only with crcs.
  size_t num_notes = 0;                            // Notes of types and slices in the metadata.
};
// The length and header of a file. Throws: NotFoundError; DataLossError if they do not fit the
// file.
std::string read_safetensors_head(FileSystem& files, const std::string& path);
// Throws: NotFoundError; DataLossError for a header that does not fit the file or its checksum.
SafetensorsFile open_safetensors_file(FileSystem& files, const std::string& path);

// Names of tensors that are stored under another one, which they map to: of tied weights, Python's
// save_model() stores one and notes the others in the metadata.
using Aliases = std::map<std::string, std::string, std::less<>>;

// A whole checkpoint.
struct SafetensorsIndex {
  std::string path;
  std::unique_ptr<OpenFiles> open;  // By their indices in `files`.
  std::vector<SafetensorsFile> files = {};
  // A shard is the index of a file, an offset is relative to the file. Checksums are masked, and
  // valid only if the file has checksums. The type is kInvalid if DType has no equivalent.
  StoredTensors::Map tensors = {};
  Metadata metadata = {};            // Of all files, without crochet's notes.
  UnreadableValues unreadable = {};  // In missing and damaged files, or of unknown types.
  Aliases aliases = {};              // `tensors` has them, too.
};
// Reads the file, or the index of several files, at `path`.
// Throws: NotFoundError; DataLossError.
SafetensorsIndex read_safetensors(FileSystem& files, const std::string& path);

}  // namespace crochet::inline v0::internal
