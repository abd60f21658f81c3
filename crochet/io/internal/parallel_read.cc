// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/parallel_read.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/base/internal/thread.h"
#include "crochet/io/internal/crc32c.h"

namespace crochet::inline v0::internal {
namespace {

// Starting a thread takes as long as copying a fifth of this.
constexpr size_t kMinPieceBytes = size_t{1} << 20;
// As many cores are enough for the memory of most machines.
constexpr size_t kMaxThreads = 4;
// Stays in the cache between the copy and the checksum.
constexpr size_t kCachedBytes = size_t{256} << 10;

// What one thread reads.
struct Piece {
  uint64_t offset;
  std::span<std::byte> destination;
  uint32_t crc = 0;  // Of its own bytes, after those before the first piece.
  std::exception_ptr error = nullptr;
};

size_t num_pieces(size_t num_bytes) {
  const size_t most = std::min(num_bytes / kMinPieceBytes, kMaxThreads);
  if (most < 2) return 1;  // To ask for the number of cores would take longer than a small read.
  return std::clamp<size_t>(std::thread::hardware_concurrency(), 1, most);
}

std::vector<Piece> pieces_of(uint64_t offset, std::span<std::byte> destination) {
  const size_t number = num_pieces(destination.size());
  const size_t size = destination.size() / number;
  std::vector<Piece> pieces;
  for (size_t i = 0; i < number; ++i) {
    const size_t begin = size * i;
    const size_t end = i + 1 == number ? destination.size() : begin + size;
    pieces.push_back({offset + begin, destination.subspan(begin, end - begin)});
  }
  return pieces;
}

// Calls `read(piece)` for each of the pieces at the same time.
template <typename Read>
void for_each_piece(std::vector<Piece>& pieces, const Read& read) {
  const auto attempt = [&read](Piece& piece) {
    try {
      read(piece);
    } catch (...) {
      piece.error = std::current_exception();
    }
  };
  {
    std::vector<Thread> threads;
    for (size_t i = 1; i < pieces.size(); ++i) {
      try {
        threads.emplace_back("reading", [&attempt, &piece = pieces[i]] { attempt(piece); });
      } catch (const ResourceExhaustedError&) {
        attempt(pieces[i]);
      }
    }
    attempt(pieces.front());
  }
  for (const Piece& piece : pieces)
    if (piece.error) std::rethrow_exception(piece.error);
}

}  // namespace

void read_in_parallel(const ReadableFile& file, uint64_t offset, std::span<std::byte> destination) {
  std::vector<Piece> pieces = pieces_of(offset, destination);
  for_each_piece(pieces, [&](Piece& piece) { file.read_at(piece.offset, piece.destination); });
}

uint32_t read_in_parallel_with_crc32c(const ReadableFile& file, uint64_t offset, uint32_t crc,
                                      std::span<std::byte> destination) {
  std::vector<Piece> pieces = pieces_of(offset, destination);
  pieces.front().crc = crc;
  for_each_piece(pieces, [&](Piece& piece) {
    for (size_t begin = 0; begin < piece.destination.size(); begin += kCachedBytes) {
      const auto cached = piece.destination.subspan(
          begin, std::min(kCachedBytes, piece.destination.size() - begin));
      file.read_at(piece.offset + begin, cached);
      piece.crc = extend_crc32c(piece.crc, cached);
    }
  });
  crc = pieces.front().crc;
  for (const Piece& piece : std::span(pieces).subspan(1))
    crc = combine_crc32c(crc, piece.crc, piece.destination.size());
  return crc;
}

}  // namespace crochet::inline v0::internal
