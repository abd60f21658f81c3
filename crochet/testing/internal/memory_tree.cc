// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/internal/memory_tree.h"

#include <errno.h>

#include <algorithm>
#include <set>

#include "crochet/io/internal/errno_error.h"

namespace crochet::inline v0::internal {
namespace {

std::string surviving_bytes(const MemoryNode& file, UnsyncedBytes unsynced) {
  if (unsynced == UnsyncedBytes::kLost) return file.synced_bytes;
  // Rewritten content (of truncated or new files) counts as appended as a whole.
  const size_t common = file.bytes.starts_with(file.synced_bytes) ? file.synced_bytes.size() : 0;
  const size_t appended = file.bytes.size() - common;
  if (unsynced == UnsyncedBytes::kHalf) return file.bytes.substr(0, common + appended / 2);
  if (unsynced == UnsyncedBytes::kZeroed)
    return file.bytes.substr(0, common) + std::string(appended, '\0');
  return file.bytes;
}

std::string path_of(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

std::shared_ptr<MemoryNode> node_of(const MemoryNode::Entries& entries, const std::string& name) {
  const auto found = entries.find(name);
  return found == entries.end() ? nullptr : found->second;
}

// The current and the synced names of a directory.
std::set<std::string> all_names(const MemoryNode& directory) {
  std::set<std::string> names;
  for (const auto& [name, node] : directory.entries) names.insert(name);
  for (const auto& [name, node] : directory.synced_entries) names.insert(name);
  return names;
}

// Creates the nodes that a power cut leaves.
class Survivors {
 public:
  explicit Survivors(const PowerCut& cut) : cut_(cut) {}

  std::shared_ptr<MemoryNode> of(const MemoryNode& node, const std::string& path) {
    std::shared_ptr<MemoryNode>& copy = made_[&node];  // Stays valid as others are added.
    if (copy) return copy;
    copy = std::make_shared<MemoryNode>(node.is_directory);
    copy->modified_time = node.modified_time;
    copy->link_target = node.link_target;
    copy->bytes = copy->synced_bytes = surviving_bytes(node, cut_.bytes);
    MemoryNode::Entries entries;
    for (const std::string& name : all_names(node)) {
      const std::string below = path_of(path, name);
      const bool is_kept = cut_.names == UnsyncedNames::kKept || cut_.kept_names.contains(below);
      const auto entry = node_of(is_kept ? node.entries : node.synced_entries, name);
      if (entry) entries.emplace(name, of(*entry, below));
    }
    copy->entries = copy->synced_entries = std::move(entries);
    return copy;
  }

 private:
  const PowerCut& cut_;
  // After a cut, a node may have two names, but is still one file.
  std::map<const MemoryNode*, std::shared_ptr<MemoryNode>> made_;
};

void find_unsynced_names(const MemoryNode& directory, const std::string& path,
                         std::vector<std::string>& found) {
  for (const std::string& name : all_names(directory)) {
    const auto node = node_of(directory.entries, name);
    if (node != node_of(directory.synced_entries, name)) found.push_back(path_of(path, name));
    if (node) find_unsynced_names(*node, path_of(path, name), found);
  }
}

// A file with several names is counted once.
uint64_t bytes_of_uncounted(const MemoryNode& node, std::set<const MemoryNode*>& counted) {
  if (!counted.insert(&node).second) return 0;
  uint64_t sum = occupied_bytes(node);
  for (const auto& [name, entry] : node.entries) sum += bytes_of_uncounted(*entry, counted);
  return sum;
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

namespace {

int num_names(const MemoryNode& root, const MemoryNode& file) {
  int found = 0;
  for (const auto& [name, entry] : root.entries)
    found += entry.get() == &file ? 1 : num_names(*entry, file);
  return found;
}

}  // namespace

bool has_several_names(const MemoryNode& root, const MemoryNode& file) {
  return num_names(root, file) > 1;
}

std::optional<std::string> find_path(const MemoryNode& root, const MemoryNode& node) {
  if (&root == &node) return "";
  for (const auto& [name, entry] : root.entries)
    if (const auto below = find_path(*entry, node)) return "/" + name + *below;
  return std::nullopt;
}

uint64_t occupied_bytes(const MemoryNode& file) {
  return std::max<uint64_t>(file.bytes.size(), file.reserved_bytes);
}

uint64_t total_bytes(const MemoryNode& node) {
  std::set<const MemoryNode*> counted;
  return bytes_of_uncounted(node, counted);
}

std::vector<std::string> unsynced_names(const MemoryNode& root) {
  std::vector<std::string> found;
  find_unsynced_names(root, "", found);
  return found;
}

std::shared_ptr<MemoryNode> surviving(const std::shared_ptr<MemoryNode>& root,
                                      const PowerCut& cut) {
  return Survivors(cut).of(*root, "");
}

}  // namespace crochet::inline v0::internal
