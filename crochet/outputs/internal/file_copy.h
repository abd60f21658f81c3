// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "crochet/io/file_system.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::internal {

// What a checkpoint has recorded of its copy of a file: int64 [2], the bytes and their crc32c, each
// -1 if it is unset.
struct FileCopy {
  std::optional<uint64_t> num_bytes = {};  // Unset if there was no file.
  std::optional<uint32_t> crc32c = {};     // Unset if the bytes were shared, and not read.
};

// The names of the parts: the copy, and the path of the file, relative to the directory of the run.
inline constexpr const char* kFileCopy = "%file/copy";
inline constexpr const char* kFilePath = "%file/path";

void put(const FileCopy& copy, std::span<std::byte> description);
// Throws: DataLossError, which names `path`, for a tensor that cannot be one.
FileCopy file_copy_of(const Tensor& description, const std::string& path);

// `crc`, which is that of the bytes before `begin`, extended by those before `end`.
uint32_t extend_by_file(uint32_t crc, const ReadableFile& file, uint64_t begin, uint64_t end);

// Copies a file, from the byte `begin` on, to a new one, which is synced. Returns the crc32c of the
// copy.
uint32_t copy_file(FileSystem& files, const std::string& from, const std::string& to,
                   uint64_t begin = 0);
// The same for all bytes, but shares them if the file system can: then unset.
std::optional<uint32_t> clone_or_copy_file(FileSystem& files, const std::string& from,
                                           const std::string& to);

}  // namespace crochet::inline v0::internal
