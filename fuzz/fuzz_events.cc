// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// TensorBoard's event files. Wrong checksums are corrected first.
#include <algorithm>

#include "crochet/io/internal/crc32c.h"
#include "crochet/summary/event_file_reader.h"
#include "fuzz_target.h"

using namespace crochet;

namespace {

void put_crc(std::string& bytes, size_t offset, std::string_view of) {
  const uint32_t crc = internal::mask_crc32c(internal::crc32c(of));
  for (size_t i = 0; i < sizeof(crc); ++i) bytes[offset + i] = static_cast<char>(crc >> (8 * i));
}

// Corrects the checksums of all records that can be found by their lengths.
void sign(std::string& bytes) {
  for (size_t at = 0;
       bytes.size() - at >= internal::kRecordHeaderBytes + internal::kRecordFooterBytes;) {
    const std::string_view rest = std::string_view(bytes).substr(at);
    uint64_t length = 0;
    for (size_t i = 0; i < sizeof(length); ++i)
      length |= uint64_t{static_cast<uint8_t>(rest[i])} << (8 * i);
    put_crc(bytes, at + sizeof(length), rest.substr(0, sizeof(length)));
    if (length > rest.size() - internal::kRecordHeaderBytes - internal::kRecordFooterBytes) return;
    put_crc(bytes, at + internal::kRecordHeaderBytes + length,
            rest.substr(internal::kRecordHeaderBytes, length));
    at += internal::kRecordHeaderBytes + length + internal::kRecordFooterBytes;
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(as_text(data, size));
  sign(bytes);
  MemoryFileSystem files;
  put_file(files, "/events", bytes);
  return expect_typed_errors([&] {
    EventFileReader reader(files, "/events");
    while (reader.read()) continue;
  });
}
