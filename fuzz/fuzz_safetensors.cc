// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A safetensors file. Every tensor is read: once with the input as it is, and once with the first
// eight bytes, the header's length, set so that the header ends at the last brace. Checksums in the
// header are not corrected: they are optional.
#include "crochet/checkpoint/file/checkpoint_reader.h"
#include "fuzz_target.h"

using namespace crochet;

namespace {

constexpr size_t kLengthBytes = 8;

void fit_length(std::string& bytes) {
  const size_t end = bytes.rfind('}');
  if (bytes.size() < kLengthBytes || end == std::string::npos || end < kLengthBytes) return;
  const uint64_t length = end + 1 - kLengthBytes;
  for (size_t i = 0; i < kLengthBytes; ++i) bytes[i] = static_cast<char>(length >> (8 * i));
}

void read_all(std::string_view bytes) {
  MemoryFileSystem files;
  put_file(files, "/fuzz.safetensors", bytes);
  expect_typed_errors([&] {
    const CheckpointReader reader("/fuzz", files);
    for (const auto& tensor : reader.tensors())
      expect_typed_errors([&] { reader.read(tensor.first); });
    reader.verify();
  });
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(as_text(data, size));
  read_all(bytes);
  fit_length(bytes);
  read_all(bytes);
  return 0;
}
