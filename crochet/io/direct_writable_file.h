// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "crochet/io/file_descriptor.h"
#include "crochet/io/file_system.h"
#include "crochet/io/io_ring.h"
#include "crochet/io/writable_state.h"

namespace crochet::inline v0 {

// A file, and its state when writing begins.
struct DirectFile {
  std::string path;
  FileDescriptor descriptor;  // Open with O_DIRECT.
  uint64_t length = 0;        // As set when its room was reserved.
  size_t block_bytes = 0;     // See DirectCalls::block_bytes().
};

// A file written past the page cache. Appended bytes are copied into the buffers of a ring, and
// their checksum is computed on the way; a full buffer is written while the next one is filled.
// Bytes held by the caller are written from its memory if they are aligned to pages and start at a
// block of the file. The last bytes, less than a block, go through the page cache.
//
// Readers see the bytes, and the length, after flush(), sync() or close(). If the file system
// accepts O_DIRECT but refuses the writes, or the kernel creates a ring but refuses its requests,
// the file falls back to the page cache.
class DirectWritableFile final : public WritableFile {
 public:
  enum class Means { kDirect, kRing };
  // Called once if a write is refused, with the means that was refused and the errno.
  using OnRefused = std::function<void(Means means, int error)>;

  // Requires: the ring's buffer size is a multiple of the file's block size.
  DirectWritableFile(DirectCalls& calls, DirectFile file, std::unique_ptr<IoRing> ring,
                     std::shared_ptr<IoRingPool> pool, OnRefused on_refused);
  // Waits for the writes in flight, which use the ring's buffers.
  ~DirectWritableFile() override;

  using WritableFile::append;
  void append(std::span<const std::byte> data) override;
  uint32_t append_with_crc32c(uint32_t crc, std::span<const std::byte> data) override;
  uint32_t append_held_with_crc32c(uint32_t crc, std::span<const std::byte> data) override;
  void flush() override;
  void sync() override;
  void close() override;

 private:
  uint64_t length() const { return offset_ + filled_; }

  // Copies `data` into buffers, and passes each copied piece to `look`.
  template <typename Look>
  void copy_in(std::span<const std::byte> data, const Look& look);
  // Starts a write of the first bytes of `data` from the caller's memory; returns these bytes, or
  // none if `data` must be copied.
  std::span<const std::byte> write_in_place(std::span<const std::byte> data);
  // The free part of the current buffer; waits for a free buffer if necessary.
  std::span<std::byte> room();
  size_t take_buffer();
  void write_full_buffer();
  // Waits for all writes, writes the tail, and sets the file's exact length.
  void write_all();
  void write_tail(size_t begin);

  // Starts a write of whole blocks, or makes it at once if the file is no longer direct.
  void start(const IoRequest& request);
  void wait_for_one();
  void wait_for_all();
  void end(const IoCompletion& completion);
  void continue_after(const IoRequest& request, size_t written);
  void continue_through_page_cache(const IoRequest& request);
  void fall_back_to_page_cache(Means means, int error);
  void write_through_page_cache(std::span<const std::byte> bytes, uint64_t offset);
  void free_buffer(size_t buffer) { free_.push_back(buffer); }
  [[noreturn]] void fail(int error, const char* call) const;
  void return_ring() noexcept;

  DirectCalls& calls_;  // Not owned; outlives this.
  WritableState state_;
  FileDescriptor file_;
  const size_t block_bytes_;
  const OnRefused on_refused_;
  std::shared_ptr<IoRingPool> pool_;
  std::unique_ptr<IoRing> ring_;  // Null once closed.

  bool direct_ = true;
  bool written_ = false;          // Nothing was appended since write_all().
  uint64_t reserved_;             // Length set when room was reserved; 0 after write_all().
  std::vector<size_t> free_;      // Unused buffers.
  std::vector<int> num_retries_;  // By buffer, without progress.
  std::span<std::byte> current_;  // The buffer being filled; empty if there is none.
  size_t current_index_ = 0;
  size_t filled_ = 0;    // Bytes in the current buffer.
  uint64_t offset_ = 0;  // Of the current buffer in the file.
};

}  // namespace crochet::inline v0
