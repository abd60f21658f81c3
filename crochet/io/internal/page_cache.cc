// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/page_cache.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace crochet::inline v0::internal {
namespace {

constexpr uint64_t kMaxSamples = 64;

}  // namespace

double part_in_page_cache(int file, uint64_t offset, uint64_t num_bytes) {
  if (num_bytes == 0) return 0;
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t base = offset - offset % page;
  const uint64_t num_pages = (offset + num_bytes - base + page - 1) / page;
  void* const mapped =
      ::mmap(nullptr, num_pages * page, PROT_READ, MAP_SHARED, file, static_cast<off_t>(base));
  if (mapped == MAP_FAILED) return 0;
  const uint64_t num_samples = std::min(num_pages, kMaxSamples);
  uint64_t num_found = 0;
  for (uint64_t i = 0; i < num_samples; ++i) {
    auto* const place = static_cast<std::byte*>(mapped) + i * num_pages / num_samples * page;
    unsigned char state = 0;
    if (::mincore(place, page, &state) == 0 && (state & 1) != 0) ++num_found;
  }
  ::munmap(mapped, num_pages * page);
  return static_cast<double>(num_found) / static_cast<double>(num_samples);
}

}  // namespace crochet::inline v0::internal
