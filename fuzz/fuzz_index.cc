// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A bundle's index, with a data file of zeros. Every tensor is read: once with the input as it is,
// and once with correct checksums, since otherwise hardly any input would pass that check and
// reach the parser.
#include <optional>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/bundle/internal/coding.h"
#include "crochet/io/internal/crc32c.h"
#include "fuzz_target.h"

using namespace crochet;

namespace {

constexpr size_t kFooterBytes = 48;  // Two handles, padding, a magic number.
constexpr size_t kTrailerBytes = 5;  // After each block: its compression, its checksum.
constexpr size_t kDataBytes = 256;

std::optional<uint64_t> take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return {};
}

void sign_block(std::string& table, uint64_t offset, uint64_t size) {
  if (offset > table.size() || size > table.size() - offset ||
      table.size() - offset - size < kTrailerBytes)
    return;
  const std::string_view signed_bytes = std::string_view(table).substr(offset, size + 1);
  const uint32_t crc = internal::mask_crc32c(internal::crc32c(signed_bytes));
  for (size_t i = 0; i < sizeof(crc); ++i)
    table[offset + size + 1 + i] = static_cast<char>(crc >> (8 * i));
}

// Corrects the checksums of the last two blocks and of all bytes before them, taken as one block:
// small tables have no more.
void sign(std::string& table) {
  if (table.size() < kFooterBytes) return;
  std::string_view footer = std::string_view(table).substr(table.size() - kFooterBytes);
  const auto meta_offset = take_varint(footer), meta_size = take_varint(footer);
  const auto index_offset = take_varint(footer), index_size = take_varint(footer);
  if (!index_size) return;
  sign_block(table, *meta_offset, *meta_size);
  sign_block(table, *index_offset, *index_size);
  if (*meta_offset >= kTrailerBytes) sign_block(table, 0, *meta_offset - kTrailerBytes);
}

void read_all(std::string_view table) {
  MemoryFileSystem files;
  put_file(files, "/fuzz.index", table);
  put_file(files, "/fuzz.data-00000-of-00001", std::string(kDataBytes, '\0'));
  expect_typed_errors([&] {
    const CheckpointReader reader("/fuzz", files);
    for (const auto& tensor : reader.tensors())
      expect_typed_errors([&] { reader.read(tensor.first); });
    reader.verify();
  });
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string table(as_text(data, size));
  read_all(table);  // It may have several data blocks, which sign() would break.
  sign(table);
  read_all(table);
  return 0;
}
