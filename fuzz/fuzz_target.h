// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the targets share. Each is one file with a LLVMFuzzerTestOneInput, which libFuzzer calls
// with inputs of its own making, and replay.cc with those of the corpus and the past finds.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "crochet/base/error.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {

inline std::string_view as_text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline void put_file(FileSystem& files, const std::string& path, std::string_view content) {
  const auto file = files.create(path);
  file->append(content);
  file->close();
}

// Calls `parse`: bad input may end in an error of ours, and in nothing else.
template <typename Parse>
int expect_typed_errors(const Parse& parse) {
  try {
    parse();
  } catch (const Error&) {
  }
  return 0;
}

// Ends the program if something is not as it must be for any input.
inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace crochet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
