// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/copies/internal/copy_past_cache.h"

#include <cstdint>
#include <cstring>

// ThreadSanitizer does not see such stores.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CROCHET_THREAD_SANITIZER
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define CROCHET_THREAD_SANITIZER
#endif
#if defined(__SSE2__) && !defined(CROCHET_THREAD_SANITIZER)
#define CROCHET_STREAMING_STORES
#include <emmintrin.h>
#endif

namespace crochet::inline v0::internal {

#ifdef CROCHET_STREAMING_STORES
namespace {

constexpr size_t kLineBytes = 64;
// Smaller pieces are likely to be used again while they are in the cache.
constexpr size_t kSmallestPiece = size_t{1} << 18;

// Requires: `to` is aligned to a cache line.
void stream_lines(std::byte* to, const std::byte* from, size_t num_bytes) {
  for (size_t at = 0; at < num_bytes; at += kLineBytes) {
    const auto* const source = reinterpret_cast<const __m128i*>(from + at);
    auto* const target = reinterpret_cast<__m128i*>(to + at);
    const __m128i a = _mm_loadu_si128(source);
    const __m128i b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2);
    const __m128i d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  _mm_sfence();  // Before another thread is notified that the data is there.
}

}  // namespace

void copy_past_cache(std::byte* to, const std::byte* from, size_t num_bytes) {
  if (num_bytes < kSmallestPiece) {
    std::memcpy(to, from, num_bytes);
    return;
  }
  const size_t before = (kLineBytes - reinterpret_cast<uintptr_t>(to) % kLineBytes) % kLineBytes;
  const size_t lines = (num_bytes - before) / kLineBytes * kLineBytes;
  std::memcpy(to, from, before);
  stream_lines(to + before, from + before, lines);
  const size_t done = before + lines;
  std::memcpy(to + done, from + done, num_bytes - done);
}
#else
void copy_past_cache(std::byte* to, const std::byte* from, size_t num_bytes) {
  std::memcpy(to, from, num_bytes);
}
#endif

}  // namespace crochet::inline v0::internal
