// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "crochet/base/clock.h"
#include "crochet/io/internal/writable_state.h"
#include "crochet/testing/internal/memory_tree.h"

namespace crochet::inline v0::internal {

// The state shared by a MemoryFileSystem and its open files.
struct MemoryFiles {
  explicit MemoryFiles(const Clock& a_clock) : clock(a_clock) {}

  // Requires: `mutex` is held.
  uint64_t free_bytes() const;

  const Clock& clock;

  std::mutex mutex;  // Guards what follows and all nodes, including those of open files.
  std::shared_ptr<MemoryNode> root = std::make_shared<MemoryNode>(/*directory=*/true);
  std::optional<uint64_t> capacity;
};

class MemoryWritableFile final : public WritableFile {
 public:
  MemoryWritableFile(std::shared_ptr<MemoryFiles> files, std::shared_ptr<MemoryNode> node,
                     const std::string& path)
      : files_(std::move(files)), node_(std::move(node)), state_(path) {}
  ~MemoryWritableFile() override { give_back(); }

  using WritableFile::append;
  void append(std::span<const std::byte> data) override;
  void sync() override;
  void close() override;

 private:
  // Releases room that was reserved and not written.
  void give_back();

  std::shared_ptr<MemoryFiles> files_;
  std::shared_ptr<MemoryNode> node_;
  WritableState state_;
};

class MemoryReadableFile final : public ReadableFile {
 public:
  MemoryReadableFile(std::shared_ptr<MemoryFiles> files, std::shared_ptr<MemoryNode> node,
                     std::string path)
      : files_(std::move(files)), node_(std::move(node)), path_(std::move(path)) {}

  uint64_t size() const override;
  void read_at(uint64_t offset, std::span<std::byte> destination) const override;

 private:
  std::shared_ptr<MemoryFiles> files_;
  std::shared_ptr<MemoryNode> node_;
  std::string path_;
};

class MemoryFileLock final : public FileLock {
 public:
  // Requires: the node is not locked, and the mutex of `files` is held.
  MemoryFileLock(std::shared_ptr<MemoryFiles> files, std::shared_ptr<MemoryNode> node);
  ~MemoryFileLock() override;

  bool is_held() const override;
  void write(std::string_view text) override;

 private:
  std::shared_ptr<MemoryFiles> files_;
  std::shared_ptr<MemoryNode> node_;
};

}  // namespace crochet::inline v0::internal
