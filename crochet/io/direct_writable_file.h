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
#include "crochet/io/writable_state.h"
#include "crochet/io/write_ring.h"

namespace crochet {

// A file, and what is known of it when its writing begins.
struct DirectFile {
  std::string path;
  FileDescriptor descriptor;  // Open with O_DIRECT.
  uint64_t length = 0;        // As it was made when its room was reserved.
  size_t block_bytes = 0;     // See DirectCalls::block_bytes().
};

// A file that goes past the page cache. What is appended is copied into the buffers of a ring,
// with its checksum on the way; a buffer that is full is written while the next one is filled.
// What is held by the caller is written from there, if it is aligned to pages and comes at a whole
// block of the file. The last bytes, which are no whole block, go through the page cache.
//
// Readers see the bytes, and the length, after flush(), sync() or close(). Where the file system
// takes O_DIRECT but then refuses to write so, or the kernel makes a ring but then takes no
// request, the file goes on through the page cache.
class DirectWritableFile final : public WritableFile {
 public:
  enum class Means { kDirect, kRing };
  // Called once if a write is refused: what refused it, and the errno.
  using OnRefused = std::function<void(Means means, int error)>;

  // Requires: a buffer of the ring is a multiple of the file's blocks.
  DirectWritableFile(DirectCalls& calls, DirectFile file, std::unique_ptr<WriteRing> ring,
                     std::shared_ptr<WriteRingPool> pool, OnRefused on_refused);
  // Waits for the writes that are in flight: they are out of our buffers.
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

  // Hands each piece of `data`, once it is in a buffer, to `look`.
  template <typename Look>
  void copy_in(std::span<const std::byte> data, const Look& look);
  // Begins to write the first of `data` from where they are; returns them, or none if they are to
  // be copied.
  std::span<const std::byte> write_in_place(std::span<const std::byte> data);
  // What is left of the buffer that is being filled; waits for a free one if it must.
  std::span<std::byte> room();
  size_t take_buffer();
  void write_full_buffer();
  // Waits for all, writes the tail, and gives the file its exact length.
  void write_all();
  void write_tail(size_t begin);

  // Begins a write, of whole blocks; or makes it, if the file is no longer direct.
  void start(const WriteRequest& request);
  void wait_for_one();
  void wait_for_all();
  void end(const WriteCompletion& completion);
  void go_on_after(const WriteRequest& request, size_t written);
  void go_on_through_page_cache(const WriteRequest& request);
  void leave_direct_way(Means means, int error);
  void write_through_page_cache(std::span<const std::byte> bytes, uint64_t offset);
  void free_buffer(size_t buffer) { free_.push_back(buffer); }
  [[noreturn]] void fail(int error, const char* call) const;
  void give_ring_back() noexcept;

  DirectCalls& calls_;  // Not owned; outlives this.
  WritableState state_;
  FileDescriptor file_;
  const size_t block_bytes_;
  const OnRefused on_refused_;
  std::shared_ptr<WriteRingPool> pool_;
  std::unique_ptr<WriteRing> ring_;  // Null once closed.

  bool direct_ = true;
  bool written_ = false;      // Nothing came after write_all().
  uint64_t reserved_;         // The file's length at least; more than length() until write_all().
  std::vector<size_t> free_;  // Buffers that nobody uses.
  std::vector<int> num_retries_;  // By buffer, without progress.
  std::span<std::byte> current_;  // The buffer that is being filled; empty if there is none.
  size_t current_index_ = 0;
  size_t filled_ = 0;    // Bytes of it.
  uint64_t offset_ = 0;  // Of it in the file.
};

}  // namespace crochet
