// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Shared by the targets. Each is one file with an LLVMFuzzerTestOneInput, which libFuzzer calls
// with generated inputs, and replay.cc with those of the corpus and the past finds.

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

// Calls `parse`, which may throw only a crochet::Error, whatever the input.
template <typename Parse>
int expect_typed_errors(const Parse& parse) {
  try {
    parse();
  } catch (const Error&) {
  }
  return 0;
}

// Calls `parse`, which must throw an Error; returns its code.
template <typename Parse>
Code code_of_error(const Parse& parse) {
  try {
    parse();
  } catch (const Error& error) {
    return error.code();
  }
  __builtin_trap();
}

// Crashes the program unless `holds`: for invariants that every input must keep.
inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace crochet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
