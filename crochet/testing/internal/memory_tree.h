// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/testing/memory_file_system.h"

namespace crochet::inline v0::internal {

// A file or a directory of a MemoryFileSystem, with its current and its synced content.
struct MemoryNode {
  using Entries = std::map<std::string, std::shared_ptr<MemoryNode>, std::less<>>;

  explicit MemoryNode(bool directory) : is_directory(directory) {}

  const bool is_directory;
  // For a directory.
  Entries entries;
  Entries synced_entries;
  // For a symbolic link; empty for anything else.
  std::string link_target;
  // For a file.
  std::string bytes;
  std::string synced_bytes;
  uint64_t reserved_bytes = 0;  // For a file being written.
  double modified_time = 0;
  bool locked = false;
};

// A location in the tree: its directory, and the node with this name, if there is one.
struct MemoryPlace {
  std::shared_ptr<MemoryNode> directory;  // Null for the root itself.
  std::string name;
  std::shared_ptr<MemoryNode> node;
};

// "a//b/." gives "a", "b".
std::vector<std::string> path_parts(std::string_view path);

// Throws: NotFoundError that names `operation` if the directory of `path` is
// missing or is a file.
MemoryPlace find_place(const std::shared_ptr<MemoryNode>& root, const std::string& path,
                       std::string_view operation);

// The path of a node from `root` on, with a '/' before each name; "" for the root; unset if the
// node is no longer in the tree.
std::optional<std::string> find_path(const MemoryNode& root, const MemoryNode& node);

// True if the tree has several names of a file.
bool has_several_names(const MemoryNode& root, const MemoryNode& file);

// The bytes that a file occupies, including reserved ones.
uint64_t occupied_bytes(const MemoryNode& file);
// The bytes that all files in a tree occupy.
uint64_t total_bytes(const MemoryNode& node);

// The paths whose entries differ from the synced ones, sorted.
std::vector<std::string> unsynced_names(const MemoryNode& root);

// A new tree: what a power cut leaves of this one.
std::shared_ptr<MemoryNode> surviving(const std::shared_ptr<MemoryNode>& root, const PowerCut& cut);

}  // namespace crochet::inline v0::internal
