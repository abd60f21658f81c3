// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/internal/memory_files.h"

#include <errno.h>

#include <algorithm>

#include "crochet/io/internal/errno_error.h"

namespace crochet::inline v0::internal {

uint64_t MemoryFiles::free_bytes() const {
  constexpr uint64_t kPlenty = uint64_t{1} << 40;
  if (!capacity) return kPlenty;
  return *capacity - std::min(*capacity, total_bytes(*root));
}

void MemoryWritableFile::append(std::span<const std::byte> data) {
  state_.run("append", [&] {
    const std::lock_guard lock(files_->mutex);
    const uint64_t own_room = occupied_bytes(*node_) - node_->bytes.size();
    const auto fitting = std::min<uint64_t>(data.size(), own_room + files_->free_bytes());
    node_->bytes.append(reinterpret_cast<const char*>(data.data()), fitting);
    node_->modified_time = files_->clock.wall_time();
    if (fitting < data.size()) throw_errno(ENOSPC, state_.path(), "write");
  });
}

void MemoryWritableFile::sync() {
  state_.run("sync", [&] {
    const std::lock_guard lock(files_->mutex);
    node_->synced_bytes = node_->bytes;
  });
}

void MemoryWritableFile::close() {
  state_.close();
  give_back();
}

void MemoryWritableFile::give_back() {
  const std::lock_guard lock(files_->mutex);
  node_->reserved_bytes = 0;
}

uint64_t MemoryReadableFile::size() const {
  const std::lock_guard lock(files_->mutex);
  return node_->bytes.size();
}

void MemoryReadableFile::read_at(uint64_t offset, std::span<std::byte> destination) const {
  const std::lock_guard lock(files_->mutex);
  const uint64_t size = node_->bytes.size();
  if (offset > size || destination.size() > size - offset)
    throw_short_file(path_, offset, destination.size(), size);
  std::ranges::copy(std::as_bytes(std::span(node_->bytes)).subspan(offset, destination.size()),
                    destination.begin());
}

MemoryFileLock::MemoryFileLock(std::shared_ptr<MemoryFiles> files, std::shared_ptr<MemoryNode> node)
    : files_(std::move(files)), node_(std::move(node)) {
  node_->locked = true;
}

bool MemoryFileLock::is_held() const {
  const std::lock_guard lock(files_->mutex);
  return find_path(*files_->root, *node_).has_value();
}

void MemoryFileLock::write(std::string_view text) {
  const std::lock_guard lock(files_->mutex);
  node_->bytes = text.substr(0, files_->free_bytes() + node_->bytes.size());
  node_->modified_time = files_->clock.wall_time();
  if (node_->bytes.size() < text.size()) throw_errno(ENOSPC, "a lock file", "write");
}

MemoryFileLock::~MemoryFileLock() {
  const std::lock_guard lock(files_->mutex);
  node_->locked = false;
}

}  // namespace crochet::inline v0::internal
