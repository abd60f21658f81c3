// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/direct_writable_file.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/base/internal/page.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/io/internal/errno_error.h"
#include "crochet/io/internal/writable_state.h"

namespace crochet::inline v0::internal {
namespace {

// Completions of one buffer with "try again", or with less than a block written, before they
// count as an error.
constexpr int kMaxWriteRetries = 1000;

bool is_at_page(std::span<const std::byte> bytes) {
  return reinterpret_cast<uintptr_t>(bytes.data()) % kPageBytes == 0;
}

// The write must be retried. ECANCELED: the thread that started it has ended.
bool is_retried(int error) { return error == EINTR || error == EAGAIN || error == ECANCELED; }

// The kernel accepted O_DIRECT, but the file system, or a layer below it, does not.
bool is_refusal(int error) { return error == EINVAL || error == EOPNOTSUPP || error == ENOSYS; }

class DirectWritableFile final : public WritableFile {
 public:
  DirectWritableFile(DirectCalls& calls, DirectFile file, std::unique_ptr<IoRing> ring,
                     std::shared_ptr<IoRingPool> pool, OnDirectRefused on_refused)
      : calls_(calls),
        state_(std::move(file.path)),
        file_(std::move(file.descriptor)),
        block_bytes_(file.block_bytes),
        on_refused_(std::move(on_refused)),
        pool_(std::move(pool)),
        ring_(std::move(ring)),
        reserved_(file.length),
        free_(ring_->num_buffers()),
        num_retries_(ring_->num_buffers()) {
    std::iota(free_.rbegin(), free_.rend(), size_t{0});
  }

  // Waits for the writes in flight, which use the ring's buffers.
  ~DirectWritableFile() override { return_ring(); }

  using WritableFile::append;
  void append(std::span<const std::byte> data) override {
    state_.run("append", [&] { copy_in(data, [](std::span<const std::byte>) {}); });
  }

  uint32_t append_with_crc32c(uint32_t crc, std::span<const std::byte> data) override {
    state_.run("append", [&] {
      // The checksum of what will be written, even if `data` changes meanwhile.
      copy_in(data, [&](std::span<const std::byte> copied) { crc = extend_crc32c(crc, copied); });
    });
    return crc;
  }

  uint32_t append_read_with_crc32c(uint32_t crc, size_t num_bytes, const ReadBytes& read) override {
    state_.run("append", [&] {
      fill(num_bytes, [&](size_t begin, std::span<std::byte> place) {
        read(begin, place);
        crc = extend_crc32c(crc, place);
      });
    });
    return crc;
  }

  uint32_t append_held_with_crc32c(uint32_t crc, std::span<const std::byte> data) override {
    state_.run("append", [&] {
      for (auto part = write_in_place(data); !part.empty(); part = write_in_place(data)) {
        crc = extend_crc32c(crc, part);  // While the disk reads the bytes.
        data = data.subspan(part.size());
      }
    });
    return append_with_crc32c(crc, data);
  }

  void flush() override {
    state_.run("flush", [&] { write_all(); });
  }

  void sync() override {
    state_.run("sync", [&] {
      write_all();
      int result = calls_.sync(file_.get());
      while (result == -EINTR) result = calls_.sync(file_.get());
      if (result < 0) fail(-result, "fdatasync");
    });
  }

  void close() override {
    if (!state_.is_dead() && !state_.is_closed()) state_.run("close", [&] { write_all(); });
    state_.close();
    return_ring();
    file_.close(state_.path());
  }

 private:
  uint64_t length() const { return offset_ + filled_; }

  // Copies `data` into buffers, and passes each copied piece to `look`.
  template <typename Look>
  void copy_in(std::span<const std::byte> data, const Look& look) {
    fill(data.size(), [&](size_t begin, std::span<std::byte> place) {
      std::memcpy(place.data(), data.data() + begin, place.size());
      look(place);
    });
  }

  // Calls put(begin, place) for each piece of `num_bytes` bytes, to fill its place in a buffer.
  template <typename Put>
  void fill(size_t num_bytes, const Put& put) {
    written_ = written_ && num_bytes == 0;
    for (size_t begin = 0; begin < num_bytes;) {
      const std::span<std::byte> place = room();
      const size_t size = std::min({num_bytes - begin, place.size(), kCopyBytes});
      put(begin, place.first(size));
      begin += size;
      filled_ += size;
      if (filled_ == current_.size()) write_full_buffer();
    }
  }

  // Starts a write of the first bytes of `data` from the caller's memory; returns these bytes, or
  // none if `data` must be copied.
  std::span<const std::byte> write_in_place(std::span<const std::byte> data) {
    const size_t size = ring_->buffer_bytes();
    const bool aligned = filled_ == 0 && offset_ % block_bytes_ == 0 && is_at_page(data);
    if (!direct_ || !aligned || data.size() < size) return {};
    written_ = false;
    // The buffer's memory is not used; a free buffer means that the ring has room for the request.
    size_t buffer = current_index_;
    if (current_.empty()) buffer = take_buffer();
    current_ = {};
    const IoRequest request{.file = file_.get(),
                            .buffer = buffer,
                            .held = data.data(),
                            .begin = 0,
                            .end = size,
                            .offset = offset_};
    offset_ += size;
    start(request);
    return data.first(size);
  }

  // The free part of the current buffer; waits for a free buffer if necessary.
  std::span<std::byte> room() {
    if (current_.empty()) {
      current_index_ = take_buffer();
      current_ = ring_->buffer(current_index_);
    }
    return current_.subspan(filled_);
  }

  size_t take_buffer() {
    while (free_.empty()) wait_for_one();
    const size_t buffer = free_.back();
    free_.pop_back();
    return buffer;
  }

  void write_full_buffer() {
    const IoRequest request{.file = file_.get(),
                            .buffer = current_index_,
                            .begin = 0,
                            .end = filled_,
                            .offset = offset_};
    current_ = {};
    offset_ += std::exchange(filled_, 0);
    start(request);
  }

  // Waits for all writes, writes the tail, and sets the file's exact length.
  void write_all() {
    if (written_) return;
    if (filled_ > 0) {
      const size_t whole = filled_ - filled_ % block_bytes_;
      const size_t index = current_index_;
      if (whole > 0) {
        start({.file = file_.get(), .buffer = index, .begin = 0, .end = whole, .offset = offset_});
        wait_for_all();
        std::erase(free_, index);  // It is still the current buffer.
      }
      wait_for_all();
      write_tail(whole);
    }
    wait_for_all();
    if (reserved_ > length()) {
      const int result = calls_.truncate(file_.get(), length());
      if (result < 0) fail(-result, "truncate");
    }
    reserved_ = 0;
    written_ = true;
  }

  // Moves the tail to the start of its buffer, where it becomes part of a whole block if more is
  // appended.
  void write_tail(size_t begin) {
    if (begin < filled_) {
      if (direct_) calls_.set_direct(file_.get(), false);
      write_through_page_cache(current_.first(filled_).subspan(begin), offset_ + begin);
      if (direct_) calls_.set_direct(file_.get(), true);
    }
    std::memmove(current_.data(), current_.data() + begin, filled_ - begin);
    offset_ += begin;
    filled_ -= begin;
  }

  // Starts a write of whole blocks, or makes it at once if the file is no longer direct.
  void start(const IoRequest& request) {
    if (!direct_) return continue_through_page_cache(request);
    const int result = ring_->start(request);
    if (result >= 0) return;
    // With nothing in flight the state is known: a sandbox may refuse every call to a ring that it
    // let us create.
    if (ring_->num_in_flight() > 0) fail(-result, "io_uring write");
    fall_back_to_page_cache(DirectMeans::kRing, -result);
    continue_through_page_cache(request);
  }

  void wait_for_one() {
    IoCompletion completion;
    const int result = ring_->wait(completion);
    if (result < 0) fail(-result, "io_uring wait");
    end(completion);
  }

  void wait_for_all() {
    while (ring_->num_in_flight() > 0) wait_for_one();
  }

  void end(const IoCompletion& completion) {
    const IoRequest& request = completion.request;
    const int result = completion.result;
    if (result < 0 && is_retried(-result)) return continue_after(request, 0);
    if (result < 0 && is_refusal(-result)) {
      fall_back_to_page_cache(DirectMeans::kDirect, -result);
      return continue_through_page_cache(request);
    }
    if (result < 0) fail(-result, "write");
    const auto written = static_cast<size_t>(result);
    if (written < request.end - request.begin) return continue_after(request, written);
    num_retries_[request.buffer] = 0;
    free_buffer(request.buffer);
  }

  void continue_after(const IoRequest& request, size_t written) {
    // A partly written block is written again.
    const size_t whole = written - written % block_bytes_;
    int& retries = num_retries_[request.buffer];
    retries = whole > 0 ? 0 : retries + 1;
    if (retries > kMaxWriteRetries) fail(EIO, "write");
    IoRequest rest = request;
    rest.begin += whole;
    rest.offset += whole;
    start(rest);
  }

  void continue_through_page_cache(const IoRequest& request) {
    write_through_page_cache(ring_->bytes_of(request), request.offset);
    free_buffer(request.buffer);
  }

  void fall_back_to_page_cache(DirectMeans means, int error) {
    if (!std::exchange(direct_, false)) return;
    const int result = calls_.set_direct(file_.get(), false);
    if (result < 0) fail(-result, "fcntl");
    on_refused_(means, error);
  }

  void write_through_page_cache(std::span<const std::byte> bytes, uint64_t offset) {
    while (!bytes.empty()) {
      const ssize_t written = calls_.write_at(file_.get(), bytes, offset);
      if (written == -EINTR) continue;
      if (written < 0) fail(static_cast<int>(-written), "write");
      if (written == 0) fail(EIO, "write");
      bytes = bytes.subspan(static_cast<size_t>(written));
      offset += static_cast<uint64_t>(written);
    }
  }

  void free_buffer(size_t buffer) { free_.push_back(buffer); }
  [[noreturn]] void fail(int error, const char* call) const {
    throw_errno(error, state_.path(), call);
  }

  void return_ring() noexcept {
    if (!ring_) return;
    ring_->settle();
    pool_->give_back(std::move(ring_));
  }

  DirectCalls& calls_;  // Not owned; outlives this.
  WritableState state_;
  FileDescriptor file_;
  const size_t block_bytes_;
  const OnDirectRefused on_refused_;
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
}  // namespace

std::unique_ptr<WritableFile> direct_writable_file(DirectCalls& calls, DirectFile file,
                                                   std::unique_ptr<IoRing> ring,
                                                   std::shared_ptr<IoRingPool> pool,
                                                   OnDirectRefused on_refused) {
  return std::make_unique<DirectWritableFile>(calls, std::move(file), std::move(ring),
                                              std::move(pool), std::move(on_refused));
}

}  // namespace crochet::inline v0::internal
