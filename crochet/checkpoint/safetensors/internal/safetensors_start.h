// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// The length of the header. Throws: DataLossError if it does not fit the file.
uint64_t read_header_length(const ReadableFile& file, const std::string& path);

// True for JSON text, as which the index of several files begins, and no file with data does.
bool is_json_file(const ReadableFile& file);

// True for a file that begins like one of safetensors, or like the index of several.
bool is_safetensors_file(const ReadableFile& file);

}  // namespace crochet::inline v0::internal
