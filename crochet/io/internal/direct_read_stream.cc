// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/direct_read_stream.h"

#include <errno.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "crochet/base/log.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/io/internal/errno_error.h"

namespace crochet::inline v0::internal {
namespace {

// Retries of a block that the system keeps refusing for now.
constexpr int kMaxReadRetries = 100;

constexpr uint64_t rounded_down(uint64_t value) { return value - value % kDirectAlignment; }
constexpr uint64_t rounded_up(uint64_t value) { return rounded_down(value + kDirectAlignment - 1); }

void copy(std::span<const std::byte> from, std::span<std::byte> to) {
  std::memcpy(to.data(), from.data(), from.size());
}

uint32_t copy_with_crc32c(uint32_t crc, std::span<const std::byte> from, std::span<std::byte> to) {
  while (!from.empty()) {
    const size_t size = std::min(from.size(), kCopyBytes);
    copy(from.first(size), to);
    crc = extend_crc32c(crc, to.first(size));
    from = from.subspan(size);
    to = to.subspan(size);
  }
  return crc;
}

}  // namespace

DirectReadStream::DirectReadStream(FileDescriptor file, std::string path, uint64_t offset,
                                   uint64_t num_bytes, std::unique_ptr<IoRing> ring,
                                   std::shared_ptr<IoRingPool> pool, Plain plain)
    : file_(std::move(file)),
      path_(std::move(path)),
      base_(rounded_down(offset)),
      end_(offset + num_bytes),
      position_(offset),
      ring_(std::move(ring)),
      pool_(std::move(pool)),
      block_bytes_(ring_->buffer_bytes()),
      make_plain_(std::move(plain)),
      blocks_(ring_->num_buffers()) {
  try {
    read_ahead();
  } catch (const Error& error) {
    fall_back_to_plain_reads(error.what());
  }
}

DirectReadStream::~DirectReadStream() {
  if (!ring_) return;
  ring_->settle();
  pool_->give_back(std::move(ring_));
}

size_t DirectReadStream::bytes_wanted(uint64_t number) const {
  return std::min<uint64_t>(block_bytes_, end_ - start_of(number));
}

void DirectReadStream::read_ahead() {
  const uint64_t current = (position_ - base_) / block_bytes_;
  next_to_submit_ = std::max(next_to_submit_, current);
  while (next_to_submit_ < current + blocks_.size() && start_of(next_to_submit_) < end_) {
    const size_t slot = next_to_submit_ % blocks_.size();
    while (blocks_[slot].under_way) complete_one();  // Skipped before it was read.
    blocks_[slot] = {.number = next_to_submit_++};
    start(slot);
  }
}

void DirectReadStream::start(size_t slot) {
  Block& block = blocks_[slot];
  block.under_way = true;
  const int error = ring_->start({.kind = IoRequest::Kind::kRead,
                                  .file = file_.get(),
                                  .buffer = slot,
                                  .begin = block.num_bytes,
                                  .end = rounded_up(bytes_wanted(block.number)),
                                  .offset = start_of(block.number) + block.num_bytes});
  if (error < 0) throw_errno(-error, path_, "io_uring read");
}

void DirectReadStream::complete_one() {
  IoCompletion completion;
  const int error = ring_->wait(completion);
  if (error < 0) throw_errno(-error, path_, "io_uring wait");
  const size_t slot = completion.request.buffer;
  Block& block = blocks_[slot];
  block.under_way = false;
  const bool may_retry = completion.result == -EINTR || completion.result == -EAGAIN;
  if (may_retry && block.num_retries++ < kMaxReadRetries) return start(slot);
  if (completion.result < 0) throw_errno(-completion.result, path_, "direct read");
  block.num_bytes += static_cast<size_t>(completion.result);
  const bool is_at_end = completion.result == 0 || block.num_bytes % kDirectAlignment != 0;
  if (!is_at_end && block.num_bytes < bytes_wanted(block.number)) return start(slot);
  block.ended = true;
}

std::span<const std::byte> DirectReadStream::next_bytes() {
  const uint64_t number = (position_ - base_) / block_bytes_;
  const size_t slot = number % blocks_.size();
  while (!blocks_[slot].ended) complete_one();
  const size_t begin = position_ - start_of(number);
  const size_t end = std::min(blocks_[slot].num_bytes, bytes_wanted(number));
  if (begin >= end) throw_short_file(path_, position_, end_ - position_, position_);
  return ring_->buffer(slot).subspan(begin, end - begin);
}

template <typename Consume>
bool DirectReadStream::consume(std::span<std::byte> destination, const Consume& consume) {
  const uint64_t start = position_;
  try {
    while (!destination.empty()) {
      const std::span<const std::byte> bytes = next_bytes();
      const size_t size = std::min(bytes.size(), destination.size());
      consume(bytes.first(size), destination.first(size));
      destination = destination.subspan(size);
      position_ += size;
      read_ahead();
    }
    return true;
  } catch (const Error& error) {
    position_ = start;
    fall_back_to_plain_reads(error.what());
    return false;
  }
}

void DirectReadStream::read(std::span<std::byte> destination) {
  leave_ring_to_parent();
  if (!plain_ && consume(destination, copy)) return;
  plain_->read(destination);
}

uint32_t DirectReadStream::read_with_crc32c(uint32_t crc, std::span<std::byte> destination) {
  leave_ring_to_parent();
  uint32_t extended = crc;
  const auto copy_piece = [&](std::span<const std::byte> from, std::span<std::byte> to) {
    extended = copy_with_crc32c(extended, from, to);
  };
  if (!plain_ && consume(destination, copy_piece)) return extended;
  return plain_->read_with_crc32c(crc, destination);
}

void DirectReadStream::skip(uint64_t num_bytes) {
  leave_ring_to_parent();
  if (plain_) return plain_->skip(num_bytes);
  position_ += num_bytes;
  try {
    read_ahead();
  } catch (const Error& error) {
    fall_back_to_plain_reads(error.what());
  }
}

void DirectReadStream::leave_ring_to_parent() {
  if (!plain_ && !ring_->is_mine()) fall_back_to_plain_reads("");
}

void DirectReadStream::fall_back_to_plain_reads(const std::string& reason) {
  ring_->settle();
  ring_.reset();
  plain_ = make_plain_(position_, reason);
}

}  // namespace crochet::inline v0::internal
