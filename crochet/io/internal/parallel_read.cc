// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/parallel_read.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/base/internal/thread.h"
#include "crochet/io/crc32c.h"

namespace crochet::inline v0::internal {
namespace {

// Starting a thread takes as long as copying a fifth of this.
constexpr size_t kMinPartBytes = size_t{1} << 20;
// As many cores are enough for the memory of most machines.
constexpr size_t kMaxThreads = 4;
// Stays in the cache between the copy and the checksum.
constexpr size_t kPieceBytes = size_t{256} << 10;

// What one thread reads.
struct Part {
  uint64_t offset;
  std::span<std::byte> destination;
  uint32_t crc = 0;  // Of its own bytes, after those before the first part.
  std::exception_ptr error = nullptr;
};

size_t num_parts(size_t num_bytes) {
  const size_t most = std::min(num_bytes / kMinPartBytes, kMaxThreads);
  if (most < 2) return 1;  // To ask for the number of cores would take longer than a small read.
  return std::clamp<size_t>(std::thread::hardware_concurrency(), 1, most);
}

std::vector<Part> parts_of(uint64_t offset, std::span<std::byte> destination) {
  const size_t number = num_parts(destination.size());
  const size_t size = destination.size() / number;
  std::vector<Part> parts;
  for (size_t i = 0; i < number; ++i) {
    const size_t begin = size * i;
    const size_t end = i + 1 == number ? destination.size() : begin + size;
    parts.push_back({offset + begin, destination.subspan(begin, end - begin)});
  }
  return parts;
}

// Calls `read(part)` for each of the parts at the same time.
template <typename Read>
void for_each_part(std::vector<Part>& parts, const Read& read) {
  const auto attempt = [&read](Part& part) {
    try {
      read(part);
    } catch (...) {
      part.error = std::current_exception();
    }
  };
  {
    std::vector<Thread> threads;
    for (size_t i = 1; i < parts.size(); ++i) {
      try {
        threads.emplace_back("reading", [&attempt, &part = parts[i]] { attempt(part); });
      } catch (const ResourceExhaustedError&) {
        attempt(parts[i]);
      }
    }
    attempt(parts.front());
  }
  for (const Part& part : parts)
    if (part.error) std::rethrow_exception(part.error);
}

}  // namespace

void read_in_parallel(const ReadableFile& file, uint64_t offset, std::span<std::byte> destination) {
  std::vector<Part> parts = parts_of(offset, destination);
  for_each_part(parts, [&](Part& part) { file.read_at(part.offset, part.destination); });
}

uint32_t read_in_parallel_with_crc32c(const ReadableFile& file, uint64_t offset, uint32_t crc,
                                      std::span<std::byte> destination) {
  std::vector<Part> parts = parts_of(offset, destination);
  parts.front().crc = crc;
  for_each_part(parts, [&](Part& part) {
    for (size_t begin = 0; begin < part.destination.size(); begin += kPieceBytes) {
      const auto piece =
          part.destination.subspan(begin, std::min(kPieceBytes, part.destination.size() - begin));
      file.read_at(part.offset + begin, piece);
      part.crc = extend_crc32c(part.crc, piece);
    }
  });
  crc = parts.front().crc;
  for (const Part& part : std::span(parts).subspan(1))
    crc = combine_crc32c(crc, part.crc, part.destination.size());
  return crc;
}

}  // namespace crochet::inline v0::internal
