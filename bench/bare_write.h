// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include <liburing.h>

#include "crochet/io/internal/crc32c.h"

constexpr size_t kBareBlockBytes = size_t{1} << 20;

// A file and the ring that writes it; both are closed at the end, also by an exception.
struct BareFile {
  BareFile() = default;
  BareFile(const BareFile&) = delete;
  BareFile& operator=(const BareFile&) = delete;
  ~BareFile() {
    if (has_ring) ::io_uring_queue_exit(&ring);
    if (file >= 0) ::close(file);
  }

  int file = -1;
  io_uring ring = {};
  bool has_ring = false;
};

// Writes a new file exactly as fio does when it measures the disk: with reserved space,
// blocks of 1 MiB by io_uring and O_DIRECT, 16 at a time, synced at the end. Each block is also
// read once, for a checksum, which every checkpoint needs; returns the sum. Requires: `bytes` is
// page-aligned and consists of whole blocks. Throws: std::runtime_error.
inline uint32_t write_bare(const std::string& path, std::span<const std::byte> bytes) {
  constexpr unsigned kDepth = 16;
  const auto check = [&](bool well, const char* call) {
    if (!well) throw std::runtime_error(path + ": " + call + " failed");
  };
  BareFile out;
  out.file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT, 0644);
  check(out.file >= 0, "open");
  check(::posix_fallocate(out.file, 0, static_cast<off_t>(bytes.size())) == 0, "posix_fallocate");
  out.has_ring = ::io_uring_queue_init(kDepth, &out.ring, 0) == 0;
  check(out.has_ring, "io_uring_queue_init");
  unsigned in_flight = 0;
  const auto wait_for_one = [&] {
    io_uring_cqe* done = nullptr;
    check(::io_uring_wait_cqe(&out.ring, &done) == 0, "io_uring_wait_cqe");
    check(done->res == static_cast<int>(kBareBlockBytes), "write");
    ::io_uring_cqe_seen(&out.ring, done);
    --in_flight;
  };
  uint32_t checksum = 0;
  for (size_t offset = 0; offset < bytes.size(); offset += kBareBlockBytes) {
    if (in_flight == kDepth) wait_for_one();
    ::io_uring_prep_write(::io_uring_get_sqe(&out.ring), out.file, bytes.data() + offset,
                          kBareBlockBytes, offset);
    check(::io_uring_submit(&out.ring) == 1, "io_uring_submit");
    ++in_flight;
    checksum = crochet::internal::extend_crc32c(checksum, bytes.subspan(offset, kBareBlockBytes));
  }
  while (in_flight > 0) wait_for_one();
  check(::fdatasync(out.file) == 0, "fdatasync");
  return checksum;
}
