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

namespace crochet {

// A file or a directory of a MemoryFileSystem, as it is and as it was synced.
struct MemoryNode {
  using Entries = std::map<std::string, std::shared_ptr<MemoryNode>, std::less<>>;

  explicit MemoryNode(bool directory) : is_directory(directory) {}

  const bool is_directory;
  // Of a directory.
  Entries entries;
  Entries synced_entries;
  // Of a file.
  std::string bytes;
  std::string synced_bytes;
  uint64_t reserved_bytes = 0;  // By a file that is being written.
  double modified_time = 0;
  bool locked = false;
};

// A place in the tree: its directory, and the node if one has this name.
struct MemoryPlace {
  std::shared_ptr<MemoryNode> directory;  // Null for the root itself.
  std::string name;
  std::shared_ptr<MemoryNode> node;
};

// "a//b/." gives "a", "b".
std::vector<std::string> path_parts(std::string_view path);

// Throws: NotFoundError, saying what `operation` was, if the directory of
// `path` is missing or is a file.
MemoryPlace find_place(const std::shared_ptr<MemoryNode>& root, const std::string& path,
                       std::string_view operation);

// The path of a node from `root` on, with a '/' before each name; nothing if it is not there any
// more. Of the root: "".
std::optional<std::string> find_path(const MemoryNode& root, const MemoryNode& node);

// The bytes that a file takes, with those it has reserved.
uint64_t occupied_bytes(const MemoryNode& file);
// Those of all files in a tree.
uint64_t total_bytes(const MemoryNode& node);

// The paths whose entries are not those that were synced, sorted.
std::vector<std::string> unsynced_names(const MemoryNode& root);

// A new tree: what a power cut leaves of this one.
std::shared_ptr<MemoryNode> surviving(const std::shared_ptr<MemoryNode>& root, const PowerCut& cut);

}  // namespace crochet
