// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/direct_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>

#include <linux/magic.h>

#include "crochet/base/internal/blocked_signal.h"
#include "crochet/base/internal/immortal.h"
#include "crochet/io/internal/open_file.h"

namespace crochet::inline v0::internal {
namespace {

// Works with disks and file systems that do not report their alignment.
constexpr int64_t kUsualBlockBytes = 4096;

template <typename Result>
Result or_errno(Result result) {
  return result < 0 ? static_cast<Result>(-errno) : result;
}

// 0 if the kernel or the file system does not report it.
int64_t reported_alignment(int file) {
#ifdef STATX_DIOALIGN
  struct statx status;
  if (::statx(file, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 &&
      (status.stx_mask & STATX_DIOALIGN) != 0)
    return std::max<int64_t>(status.stx_dio_offset_align, status.stx_dio_mem_align);
#else
  static_cast<void>(file);
#endif
  return 0;
}

}  // namespace

int DirectCalls::open(const FilePlace& place, int flags) {
  return try_open_file(place, OpenFor::kReplacing, flags);
}

int64_t DirectCalls::block_bytes(int file) {
  struct statfs status;
  if (::fstatfs(file, &status) != 0) return -errno;
  // These accept O_DIRECT but still use the page cache: it is their only storage.
  if (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC) return -EOPNOTSUPP;
  // A part of a block would be read before it is written.
  return std::max(reported_alignment(file), kUsualBlockBytes);
}

int DirectCalls::reserve(int file, int mode, uint64_t num_bytes) {
  const BlockedSignal no_signal(SIGXFSZ);
  return or_errno(::fallocate(file, mode, 0, static_cast<off_t>(num_bytes)));
}

int DirectCalls::set_direct(int file, bool direct) {
  const int flags = ::fcntl(file, F_GETFL);
  if (flags < 0) return -errno;
  return or_errno(::fcntl(file, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT));
}

ssize_t DirectCalls::write_at(int file, std::span<const std::byte> bytes, uint64_t offset) {
  const BlockedSignal no_signal(SIGXFSZ);
  return or_errno(::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset)));
}

int DirectCalls::truncate(int file, uint64_t num_bytes) {
  return or_errno(::ftruncate(file, static_cast<off_t>(num_bytes)));
}

int DirectCalls::sync(int file) { return or_errno(::fdatasync(file)); }

int DirectCalls::result_of(const IoRequest&, int result) { return result; }

DirectCalls& DirectCalls::real() {
  static Immortal<DirectCalls> calls;
  return *calls;
}

}  // namespace crochet::inline v0::internal
