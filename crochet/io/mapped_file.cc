// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

namespace crochet::inline v0 {
namespace {

class MappedPages final : public MappedBytes {
 public:
  // Takes ownership of the pages; the requested bytes begin at `begin`.
  MappedPages(void* pages, size_t size, size_t begin) : pages_(pages), size_(size), begin_(begin) {}
  ~MappedPages() override { ::munmap(pages_, size_); }
  MappedPages(const MappedPages&) = delete;
  MappedPages& operator=(const MappedPages&) = delete;

  std::span<const std::byte> bytes() const override {
    return std::span(static_cast<const std::byte*>(pages_), size_).subspan(begin_);
  }

 private:
  void* const pages_;
  const size_t size_;
  const size_t begin_;
};

class NoBytes final : public MappedBytes {
 public:
  std::span<const std::byte> bytes() const override { return {}; }
};

}  // namespace

std::unique_ptr<MappedBytes> map_file(int file, uint64_t offset, uint64_t num_bytes) {
  if (num_bytes == 0) return std::make_unique<NoBytes>();  // mmap refuses a length of 0.
  const size_t begin = offset % static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const size_t size = begin + num_bytes;
  void* const pages =
      ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, static_cast<off_t>(offset - begin));
  if (pages == MAP_FAILED) return nullptr;
  ::madvise(pages, size, MADV_SEQUENTIAL);  // A hint only.
  return std::make_unique<MappedPages>(pages, size, begin);
}

}  // namespace crochet::inline v0
