// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A safetensors file. Every tensor is read: once with the input as it is, and once with the first
// eight bytes, the header's length, set so that the header ends at the last brace. Checksums in the
// header are not corrected: they are optional. And once as the index of several files, of which
// "a" and "b/c" are there.
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
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

std::string file_of(const std::string& json) {
  std::string bytes(kLengthBytes, '\0');
  bytes[0] = static_cast<char>(json.size());
  return bytes + json + '\1';
}

void read_all(const std::string& path, std::string_view bytes) {
  MemoryFileSystem files;
  put_file(files, path, bytes);
  put_file(files, "/a", file_of(R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})"));
  files.create_directories("/b");
  put_file(files, "/b/c", file_of(R"({"b":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})"));
  expect_typed_errors([&] {
    const CheckpointReader reader(path, files);
    for (const auto& tensor : reader.tensors())
      expect_typed_errors([&] { reader.read(tensor.first); });
    for (const auto& value : reader.unreadable())
      require(code_of_error([&] { reader.read(value.first); }) == value.second.code);
    reader.verify();
  });
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(as_text(data, size));
  read_all("/fuzz.safetensors", bytes);
  read_all("/fuzz.safetensors.index.json", bytes);
  fit_length(bytes);
  read_all("/fuzz.safetensors", bytes);
  return 0;
}
