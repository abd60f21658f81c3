// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/direct_writable_file.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/page.h"
#include "crochet/io/crc32c.h"
#include "crochet/io/errno_error.h"

namespace crochet::inline v0 {
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

}  // namespace

DirectWritableFile::DirectWritableFile(DirectCalls& calls, DirectFile file,
                                       std::unique_ptr<IoRing> ring,
                                       std::shared_ptr<IoRingPool> pool, OnRefused on_refused)
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

DirectWritableFile::~DirectWritableFile() { return_ring(); }

void DirectWritableFile::return_ring() noexcept {
  if (!ring_) return;
  ring_->settle();
  pool_->give_back(std::move(ring_));
}

void DirectWritableFile::append(std::span<const std::byte> data) {
  state_.run("append", [&] { copy_in(data, [](std::span<const std::byte>) {}); });
}

uint32_t DirectWritableFile::append_with_crc32c(uint32_t crc, std::span<const std::byte> data) {
  state_.run("append", [&] {
    // The checksum of what will be written, even if `data` changes meanwhile.
    copy_in(data, [&](std::span<const std::byte> copied) { crc = extend_crc32c(crc, copied); });
  });
  return crc;
}

uint32_t DirectWritableFile::append_held_with_crc32c(uint32_t crc,
                                                     std::span<const std::byte> data) {
  state_.run("append", [&] {
    for (auto part = write_in_place(data); !part.empty(); part = write_in_place(data)) {
      crc = extend_crc32c(crc, part);  // While the disk reads the bytes.
      data = data.subspan(part.size());
    }
  });
  return append_with_crc32c(crc, data);
}

std::span<const std::byte> DirectWritableFile::write_in_place(std::span<const std::byte> data) {
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

template <typename Look>
void DirectWritableFile::copy_in(std::span<const std::byte> data, const Look& look) {
  written_ = written_ && data.empty();
  while (!data.empty()) {
    const std::span<std::byte> place = room();
    const size_t size = std::min({data.size(), place.size(), kCopyBytes});
    std::memcpy(place.data(), data.data(), size);
    look(place.first(size));
    data = data.subspan(size);
    filled_ += size;
    if (filled_ == current_.size()) write_full_buffer();
  }
}

std::span<std::byte> DirectWritableFile::room() {
  if (current_.empty()) {
    current_index_ = take_buffer();
    current_ = ring_->buffer(current_index_);
  }
  return current_.subspan(filled_);
}

size_t DirectWritableFile::take_buffer() {
  while (free_.empty()) wait_for_one();
  const size_t buffer = free_.back();
  free_.pop_back();
  return buffer;
}

void DirectWritableFile::write_full_buffer() {
  const IoRequest request{
      .file = file_.get(), .buffer = current_index_, .begin = 0, .end = filled_, .offset = offset_};
  current_ = {};
  offset_ += std::exchange(filled_, 0);
  start(request);
}

void DirectWritableFile::flush() {
  state_.run("flush", [&] { write_all(); });
}

void DirectWritableFile::sync() {
  state_.run("sync", [&] {
    write_all();
    int result = calls_.sync(file_.get());
    while (result == -EINTR) result = calls_.sync(file_.get());
    if (result < 0) fail(-result, "fdatasync");
  });
}

void DirectWritableFile::close() {
  if (!state_.is_dead() && !state_.is_closed()) state_.run("close", [&] { write_all(); });
  state_.close();
  return_ring();
  file_.close(state_.path());
}

void DirectWritableFile::write_all() {
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
void DirectWritableFile::write_tail(size_t begin) {
  if (begin < filled_) {
    if (direct_) calls_.set_direct(file_.get(), false);
    write_through_page_cache(current_.first(filled_).subspan(begin), offset_ + begin);
    if (direct_) calls_.set_direct(file_.get(), true);
  }
  std::memmove(current_.data(), current_.data() + begin, filled_ - begin);
  offset_ += begin;
  filled_ -= begin;
}

void DirectWritableFile::start(const IoRequest& request) {
  if (!direct_) return continue_through_page_cache(request);
  const int result = ring_->start(request);
  if (result >= 0) return;
  // With nothing in flight the state is known: a sandbox may refuse every call to a ring that it
  // let us create.
  if (ring_->num_in_flight() > 0) fail(-result, "io_uring write");
  fall_back_to_page_cache(Means::kRing, -result);
  continue_through_page_cache(request);
}

void DirectWritableFile::wait_for_one() {
  IoCompletion completion;
  const int result = ring_->wait(completion);
  if (result < 0) fail(-result, "io_uring wait");
  end(completion);
}

void DirectWritableFile::wait_for_all() {
  while (ring_->num_in_flight() > 0) wait_for_one();
}

void DirectWritableFile::end(const IoCompletion& completion) {
  const IoRequest& request = completion.request;
  const int result = completion.result;
  if (result < 0 && is_retried(-result)) return continue_after(request, 0);
  if (result < 0 && is_refusal(-result)) {
    fall_back_to_page_cache(Means::kDirect, -result);
    return continue_through_page_cache(request);
  }
  if (result < 0) fail(-result, "write");
  const auto written = static_cast<size_t>(result);
  if (written < request.end - request.begin) return continue_after(request, written);
  num_retries_[request.buffer] = 0;
  free_buffer(request.buffer);
}

void DirectWritableFile::continue_after(const IoRequest& request, size_t written) {
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

void DirectWritableFile::fall_back_to_page_cache(Means means, int error) {
  if (!std::exchange(direct_, false)) return;
  const int result = calls_.set_direct(file_.get(), false);
  if (result < 0) fail(-result, "fcntl");
  on_refused_(means, error);
}

void DirectWritableFile::continue_through_page_cache(const IoRequest& request) {
  write_through_page_cache(ring_->bytes_of(request), request.offset);
  free_buffer(request.buffer);
}

void DirectWritableFile::write_through_page_cache(std::span<const std::byte> bytes,
                                                  uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = calls_.write_at(file_.get(), bytes, offset);
    if (written == -EINTR) continue;
    if (written < 0) fail(static_cast<int>(-written), "write");
    if (written == 0) fail(EIO, "write");
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
}

void DirectWritableFile::fail(int error, const char* call) const {
  throw_errno(error, state_.path(), call);
}

}  // namespace crochet::inline v0
