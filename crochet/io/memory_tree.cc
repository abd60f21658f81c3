// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/memory_tree.h"

#include <errno.h>

#include <algorithm>

#include "crochet/io/errno_error.h"

namespace crochet {
namespace {

std::string surviving_bytes(const MemoryNode& file, UnsyncedBytes unsynced) {
  if (unsynced == UnsyncedBytes::kLost) return file.synced_bytes;
  // What was written in place of other bytes has no half: truncated or new files.
  const size_t common = file.bytes.starts_with(file.synced_bytes) ? file.synced_bytes.size() : 0;
  const size_t appended = file.bytes.size() - common;
  if (unsynced == UnsyncedBytes::kHalf) return file.bytes.substr(0, common + appended / 2);
  if (unsynced == UnsyncedBytes::kZeroed)
    return file.bytes.substr(0, common) + std::string(appended, '\0');
  return file.bytes;
}

// A node may have two names after a cut, and is one file nevertheless.
using Survivors = std::map<const MemoryNode*, std::shared_ptr<MemoryNode>>;

std::shared_ptr<MemoryNode> survivor(const MemoryNode& node, const PowerCut& cut,
                                     Survivors& survivors) {
  std::shared_ptr<MemoryNode>& copy = survivors[&node];  // Stays where it is as others come.
  if (copy) return copy;
  copy = std::make_shared<MemoryNode>(node.is_directory);
  copy->modified_time = node.modified_time;
  copy->bytes = copy->synced_bytes = surviving_bytes(node, cut.bytes);
  const auto& names = cut.names == UnsyncedNames::kKept ? node.entries : node.synced_entries;
  MemoryNode::Entries entries;
  for (const auto& [name, entry] : names) entries.emplace(name, survivor(*entry, cut, survivors));
  copy->entries = copy->synced_entries = std::move(entries);
  return copy;
}

}  // namespace

std::vector<std::string> path_parts(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (!part.empty() && part != ".") parts.emplace_back(part);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

MemoryPlace find_place(const std::shared_ptr<MemoryNode>& root, const std::string& path,
                       std::string_view operation) {
  MemoryPlace place{nullptr, "", root};
  for (std::string& part : path_parts(path)) {
    if (!place.node) throw_errno(ENOENT, path, operation);
    if (!place.node->is_directory) throw_errno(ENOTDIR, path, operation);
    const auto found = place.node->entries.find(part);
    auto node = found == place.node->entries.end() ? nullptr : found->second;
    place = {std::move(place.node), std::move(part), std::move(node)};
  }
  return place;
}

uint64_t total_bytes(const MemoryNode& node) {
  uint64_t sum = node.bytes.size();
  for (const auto& [name, entry] : node.entries) sum += total_bytes(*entry);
  return sum;
}

std::shared_ptr<MemoryNode> surviving(const std::shared_ptr<MemoryNode>& root,
                                      const PowerCut& cut) {
  Survivors survivors;
  return survivor(*root, cut, survivors);
}

}  // namespace crochet
