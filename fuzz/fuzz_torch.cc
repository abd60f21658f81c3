// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A file of torch: once as it is, once as the pickle in an archive with four storages, since a
// changed pickle in an archive fails its checksum, and once as the values of a file before torch
// 1.6, with the same storages. Every tensor is read, but for large ones, which repeat few elements,
// and every value that cannot be read is asked for.
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "fuzz_target.h"
#include "tests/support/raw_torch.h"

using namespace crochet;

namespace {

constexpr int64_t kMaxElements = int64_t{1} << 16;
constexpr size_t kStorageBytes = 64;

void read_all(std::string_view bytes) {
  MemoryFileSystem files;
  put_file(files, "/fuzz.pt", bytes);
  expect_typed_errors([&] {
    const CheckpointReader reader("/fuzz.pt", files);
    for (const auto& tensor : reader.tensors()) {
      const Shape& shape = tensor.second.shape;
      if (shape.num_elements() > kMaxElements) continue;
      expect_typed_errors([&] { require(reader.read(tensor.first).shape() == shape); });
    }
    for (const auto& value : reader.unreadable())
      require(code_of_error([&] { reader.read(value.first); }) == value.second.code);
    reader.verify();
  });
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(as_text(data, size));
  read_all(bytes);
  internal::RawZip zip;
  zip.add("a/data.pkl", bytes);
  for (const char* const key : {"0", "1", "2", "3"})
    zip.add(std::string("a/data/") + key, std::string(kStorageBytes, *key));
  read_all(zip.bytes());
  std::vector<std::string> storages;
  for (const char key : {'0', '1', '2', '3'}) storages.push_back(std::string(kStorageBytes, key));
  read_all(internal::legacy_torch_file(bytes, storages));
  return 0;
}
