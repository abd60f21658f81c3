// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::internal {

// What an output had written at some moment: its files, in the order of their numbers.
struct OutputPosition {
  struct File {
    uint64_t num_bytes = 0;
    uint32_t crc32c = 0;  // Of these bytes.
    friend bool operator==(const File&, const File&) = default;
  };
  std::vector<File> files;
  friend bool operator==(const OutputPosition&, const OutputPosition&) = default;
};

// How a checkpoint has an output: as int64 [files, 2], of each file its bytes and their crc32c; and
// as the path of its first file, relative to the directory of the run.
inline constexpr const char* kOutputFiles = "%output/files";
inline constexpr const char* kOutputPath = "%output/path";

Tensor to_tensor(const OutputPosition& position);
// Throws: DataLossError, which names `path`, for a tensor that cannot be one.
OutputPosition output_position_of(const Tensor& files, const std::string& path);
// Throws: DataLossError for what is not a path.
std::string output_path_of(const Tensor& path);

// "d/rows.csv" with "000001" is "d/rows.000001.csv".
std::string path_with(const std::string& path, std::string_view part);
// The path of the n-th file of an output.
std::string output_path(const std::string& path, bool rotates, size_t n);
// The same by the path of the first file.
std::string stored_path(const std::string& first, size_t n);

}  // namespace crochet::inline v0::internal
