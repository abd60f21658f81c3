// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/outputs/internal/file_copy.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {
namespace {

// Calls `use` with memory for each piece of n bytes.
template <typename Use>
void for_each_piece(uint64_t num_bytes, const Use& use) {
  constexpr uint64_t kPieceBytes = uint64_t{1} << 20;
  std::vector<std::byte> memory(static_cast<size_t>(std::min(kPieceBytes, num_bytes)));
  for (uint64_t at = 0; at < num_bytes; at += memory.size())
    use(std::span(memory).first(
        static_cast<size_t>(std::min<uint64_t>(memory.size(), num_bytes - at))));
}

}  // namespace

void put(const FileCopy& copy, std::span<std::byte> description) {
  int64_t numbers[] = {-1, -1};
  if (copy.num_bytes) numbers[0] = static_cast<int64_t>(*copy.num_bytes);
  if (copy.crc32c) numbers[1] = *copy.crc32c;
  std::memcpy(description.data(), numbers, sizeof numbers);
}

FileCopy file_copy_of(const Tensor& description, const std::string& path) {
  const bool has_numbers = description.dtype() == DType::kInt64 && description.num_elements() == 2;
  const auto numbers = has_numbers ? description.flat<int64_t>() : std::span<const int64_t>();
  if (!has_numbers || numbers[0] < -1 || numbers[1] < -1 ||
      numbers[1] > std::numeric_limits<uint32_t>::max())
    throw DataLossError(fmt::format(
        "the recorded state of {}: found {}, expected the length and the crc32c of a copy", path,
        describe(description)));
  FileCopy copy;
  if (numbers[0] >= 0) copy.num_bytes = static_cast<uint64_t>(numbers[0]);
  if (numbers[1] >= 0) copy.crc32c = static_cast<uint32_t>(numbers[1]);
  return copy;
}

uint32_t extend_by_file(uint32_t crc, const ReadableFile& file, uint64_t begin, uint64_t end) {
  const auto stream = file.stream(begin, end - begin);
  for_each_piece(end - begin,
                 [&](std::span<std::byte> piece) { crc = stream->read_with_crc32c(crc, piece); });
  return crc;
}

uint32_t copy_file(FileSystem& files, const std::string& from, const std::string& to,
                   uint64_t begin) {
  const auto source = files.open(from);
  const uint64_t num_bytes = source->size() - begin;
  const auto stream = source->stream(begin, num_bytes);
  const auto copy = files.create_large(to, num_bytes);
  uint32_t crc = 0;
  for_each_piece(num_bytes, [&](std::span<std::byte> piece) {
    stream->read(piece);
    crc = copy->append_with_crc32c(crc, piece);
  });
  copy->sync();
  copy->close();
  return crc;
}

std::optional<uint32_t> clone_or_copy_file(FileSystem& files, const std::string& from,
                                           const std::string& to) {
  try {
    files.clone(from, to);
    files.sync_file(to);
    return std::nullopt;
  } catch (const UnimplementedError&) {
    return copy_file(files, from, to);
  }
}

}  // namespace crochet::inline v0::internal
