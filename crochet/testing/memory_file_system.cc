// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/memory_file_system.h"

#include <errno.h>

#include <mutex>

#include <fmt/format.h>

#include "crochet/io/file_system.h"
#include "crochet/io/internal/errno_error.h"
#include "crochet/io/internal/file_place.h"
#include "crochet/testing/internal/memory_files.h"

namespace crochet::inline v0 {
namespace {

// The node of a path that must exist.
std::shared_ptr<internal::MemoryNode> find_node(const internal::MemoryFiles& files,
                                                const std::string& path,
                                                std::string_view operation) {
  const internal::MemoryPlace place = find_place(files.root, path, operation);
  if (!place.node) internal::throw_errno(ENOENT, path, operation);
  return place.node;
}

// The node at a path; of a symbolic link, that of its target.
std::shared_ptr<internal::MemoryNode> follow(const internal::MemoryFiles& files,
                                             const std::string& path, std::string_view operation) {
  constexpr int kMaxLinks = 40;  // As many as Linux follows.
  std::string target = path;
  for (int i = 0; i < kMaxLinks; ++i) {
    const internal::MemoryPlace place = find_place(files.root, target, operation);
    if (!place.node && i == 0) internal::throw_errno(ENOENT, path, operation);
    if (!place.node) break;
    if (place.node->link_target.empty()) return place.node;
    target = place.node->link_target;
  }
  throw FailedPreconditionError(
      fmt::format("{}: is a symbolic link to {}, where nothing is: is its disk mounted?", path,
                  find_place(files.root, path, operation).node->link_target));
}

std::shared_ptr<internal::MemoryNode> find_file(const internal::MemoryFiles& files,
                                                const std::string& path,
                                                std::string_view operation) {
  std::shared_ptr<internal::MemoryNode> node = find_node(files, path, operation);
  if (node->is_directory)
    throw FailedPreconditionError(
        fmt::format("{}: found a directory, expected a plain file", path));
  if (!node->link_target.empty())
    throw FailedPreconditionError(fmt::format(
        "{}: found a symbolic link (files are not changed through links), expected a plain file",
        path));
  return node;
}

// The same, for a file that is changed: one with several names is replaced by a copy.
std::shared_ptr<internal::MemoryNode> find_own_file(const internal::MemoryFiles& files,
                                                    const std::string& path,
                                                    std::string_view operation) {
  std::shared_ptr<internal::MemoryNode> node = find_file(files, path, operation);
  if (!internal::has_several_names(*files.root, *node)) return node;
  const internal::MemoryPlace place = find_place(files.root, path, operation);
  auto copy = std::make_shared<internal::MemoryNode>(*node);
  copy->synced_bytes = copy->bytes;
  place.directory->entries[place.name] = copy;
  return copy;
}

std::shared_ptr<internal::MemoryNode> find_directory(const internal::MemoryFiles& files,
                                                     const std::string& path,
                                                     std::string_view operation) {
  std::shared_ptr<internal::MemoryNode> node = find_node(files, path, operation);
  if (!node->is_directory) internal::throw_errno(ENOTDIR, path, operation);
  return node;
}

std::shared_ptr<internal::MemoryNode> find_or_make_file(const internal::MemoryFiles& files,
                                                        const std::string& path,
                                                        std::string_view operation) {
  const internal::MemoryPlace place = find_place(files.root, path, operation);
  if (place.node) return find_own_file(files, path, operation);
  auto node = std::make_shared<internal::MemoryNode>(/*directory=*/false);
  node->modified_time = files.clock.wall_time();
  place.directory->entries.emplace(place.name, node);
  return node;
}

// Throws as the system does if `from` may not replace `to`.
void check_replaceable(const internal::MemoryNode& from, const internal::MemoryNode& to,
                       const std::string& path, std::string_view operation) {
  if (from.is_directory && !to.is_directory) internal::throw_errno(ENOTDIR, path, operation);
  if (!from.is_directory && to.is_directory) internal::throw_errno(EISDIR, path, operation);
  if (!to.entries.empty()) internal::throw_errno(ENOTEMPTY, path, operation);
}

bool is_within(const std::string& path, const std::string& directory) {
  const auto parts = internal::path_parts(path);
  const auto above = internal::path_parts(directory);
  return parts.size() > above.size() && std::equal(above.begin(), above.end(), parts.begin());
}

}  // namespace

class MemoryFileSystem::OpenDirectory final : public ForwardingDirectory {
 public:
  OpenDirectory(MemoryFileSystem& files, const std::string& path)
      : ForwardingDirectory(files, path), state_(files.state_) {
    const std::lock_guard lock(state_->mutex);
    node_ = find_directory(*state_, path, "open");
  }

  DirectoryIdentity identity() const override {
    return {~uint64_t{0}, reinterpret_cast<uintptr_t>(node_.get())};
  }
  void check_in_place() override {
    if (!is_in_place()) throw_not_in_place(path());
  }

 protected:
  // The unchanged path, unless the directory has been moved.
  std::string translated(const std::string& path) override {
    const std::string name = internal::name_within(this->path(), path);
    if (is_in_place()) return path;
    const std::lock_guard lock(state_->mutex);
    const auto present = find_path(*state_->root, *node_);
    if (!present) internal::throw_errno(ENOENT, path, "open");
    return name.empty() ? *present : join_path(*present, name);
  }

 private:
  bool is_in_place() {
    const std::lock_guard lock(state_->mutex);
    try {
      return find_place(state_->root, path(), "open").node == node_;
    } catch (const NotFoundError&) {
      return false;
    }
  }

  const std::shared_ptr<internal::MemoryFiles> state_;
  std::shared_ptr<internal::MemoryNode> node_;
};

std::shared_ptr<Directory> MemoryFileSystem::open_directory(const std::string& path) {
  return std::make_shared<OpenDirectory>(*this, path);
}

MemoryFileSystem::MemoryFileSystem(const Clock& clock)
    : state_(std::make_shared<internal::MemoryFiles>(clock)) {}

MemoryFileSystem::~MemoryFileSystem() = default;

void MemoryFileSystem::power_cut(const PowerCut& cut) {
  const std::lock_guard lock(state_->mutex);
  state_->root = surviving(state_->root, cut);
}

std::unique_ptr<MemoryFileSystem> MemoryFileSystem::after_power_cut(const PowerCut& cut) const {
  auto other = std::make_unique<MemoryFileSystem>(state_->clock);
  const std::lock_guard lock(state_->mutex);
  other->state_->root = surviving(state_->root, cut);
  other->state_->capacity = state_->capacity;
  return other;
}

std::vector<std::string> MemoryFileSystem::unsynced_names() const {
  const std::lock_guard lock(state_->mutex);
  return internal::unsynced_names(*state_->root);
}

void MemoryFileSystem::set_capacity(std::optional<uint64_t> num_bytes) {
  const std::lock_guard lock(state_->mutex);
  state_->capacity = num_bytes;
}

std::unique_ptr<WritableFile> MemoryFileSystem::create(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  auto node = find_or_make_file(*state_, path, "open");
  node->bytes.clear();
  node->modified_time = state_->clock.wall_time();
  return std::make_unique<internal::MemoryWritableFile>(state_, std::move(node), path);
}

std::unique_ptr<WritableFile> MemoryFileSystem::create_large(const std::string& path,
                                                             uint64_t expected_bytes) {
  const std::lock_guard lock(state_->mutex);
  const internal::MemoryPlace place = find_place(state_->root, path, "open");
  const uint64_t freed = place.node ? occupied_bytes(*place.node) : 0;
  if (expected_bytes > state_->free_bytes() + freed) {
    if (place.node && !place.node->is_directory) place.directory->entries.erase(place.name);
    internal::throw_no_room(ENOSPC, path, expected_bytes, state_->free_bytes() + freed);
  }
  auto node = find_or_make_file(*state_, path, "open");
  node->bytes.clear();
  node->reserved_bytes = expected_bytes;
  node->modified_time = state_->clock.wall_time();
  return std::make_unique<internal::MemoryWritableFile>(state_, std::move(node), path);
}

std::unique_ptr<WritableFile> MemoryFileSystem::append_to(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  return std::make_unique<internal::MemoryWritableFile>(
      state_, find_or_make_file(*state_, path, "open"), path);
}

std::unique_ptr<ReadableFile> MemoryFileSystem::open(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  auto node = follow(*state_, path, "open");
  if (node->is_directory)
    throw FailedPreconditionError(
        fmt::format("{}: found a directory, expected a plain file", path));
  return std::make_unique<internal::MemoryReadableFile>(state_, std::move(node), path);
}

bool MemoryFileSystem::exists(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  try {
    return find_place(state_->root, path, "stat").node != nullptr;
  } catch (const NotFoundError&) {
    return false;
  }
}

uint64_t MemoryFileSystem::file_size(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  return follow(*state_, path, "stat")->bytes.size();
}

double MemoryFileSystem::modified_time(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  return follow(*state_, path, "stat")->modified_time;
}

std::vector<std::string> MemoryFileSystem::list(const std::string& directory) {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> names;
  for (const auto& [name, node] : find_directory(*state_, directory, "opendir")->entries)
    names.push_back(name);
  return names;
}

void MemoryFileSystem::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(state_->mutex);
  const std::string operation = fmt::format("rename to {}", to);
  const auto node = find_node(*state_, from, operation);
  const internal::MemoryPlace old_place = find_place(state_->root, from, operation);
  internal::MemoryPlace place;
  try {
    place = find_place(state_->root, to, operation);
  } catch (const NotFoundError&) {
    internal::throw_errno(ENOENT, from,
                          operation);  // The message names `from` first, as other errors do.
  }
  if (place.node == node) return;
  if (is_within(to, from) || !old_place.directory || !place.directory)
    internal::throw_errno(EINVAL, from, operation);
  if (place.node && !place.node->link_target.empty())
    throw FailedPreconditionError(
        fmt::format("{}: found a symbolic link, expected a plain file or none: links are not "
                    "replaced; put a file in its place, or remove it",
                    to));
  if (place.node) check_replaceable(*node, *place.node, from, operation);
  old_place.directory->entries.erase(old_place.name);
  place.directory->entries[place.name] = node;
}

void MemoryFileSystem::link(const std::string& from, const std::string& to) {
  const std::lock_guard lock(state_->mutex);
  const std::string operation = fmt::format("link to {}", to);
  const auto node = find_node(*state_, from, operation);
  if (node->is_directory || !node->link_target.empty())
    throw FailedPreconditionError(
        fmt::format("{}: found {}, expected a plain file", from,
                    node->is_directory ? "a directory" : "a symbolic link"));
  internal::MemoryPlace place;
  try {
    place = find_place(state_->root, to, operation);
  } catch (const NotFoundError&) {
    internal::throw_errno(ENOENT, from,
                          operation);  // The message names `from` first, as other errors do.
  }
  if (place.node) internal::throw_errno(EEXIST, from, operation);
  place.directory->entries[place.name] = node;
}

void MemoryFileSystem::clone(const std::string& from, const std::string& to) {
  const std::lock_guard lock(state_->mutex);
  const auto node = find_file(*state_, from, "clone");
  const internal::MemoryPlace place = find_place(state_->root, to, "clone");
  if (place.node) internal::throw_errno(EEXIST, to, "clone");
  const auto copy = std::make_shared<internal::MemoryNode>(/*directory=*/false);
  copy->bytes = node->bytes;
  copy->modified_time = state_->clock.wall_time();
  place.directory->entries.emplace(place.name, copy);
}

void MemoryFileSystem::make_symbolic_link(const std::string& target, const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  const std::string operation = fmt::format("symbolic link to {}", target);
  const internal::MemoryPlace place = find_place(state_->root, path, operation);
  if (place.node) internal::throw_errno(EEXIST, path, operation);
  auto node = std::make_shared<internal::MemoryNode>(/*directory=*/false);
  node->link_target = target;
  node->modified_time = state_->clock.wall_time();
  place.directory->entries.emplace(place.name, std::move(node));
}

std::optional<std::string> MemoryFileSystem::read_symbolic_link(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  try {
    const internal::MemoryPlace place = find_place(state_->root, path, "readlink");
    if (!place.node || place.node->link_target.empty()) return std::nullopt;
    return place.node->link_target;
  } catch (const NotFoundError&) {
    return std::nullopt;
  }
}

void MemoryFileSystem::remove(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  const auto node = find_node(*state_, path, "remove");
  const internal::MemoryPlace place = find_place(state_->root, path, "remove");
  if (!place.directory) internal::throw_errno(EBUSY, path, "remove");
  if (!node->entries.empty()) internal::throw_errno(ENOTEMPTY, path, "remove");
  place.directory->entries.erase(place.name);
}

void MemoryFileSystem::truncate(const std::string& path, uint64_t size) {
  const std::lock_guard lock(state_->mutex);
  const auto node = find_own_file(*state_, path, "truncate");
  node->bytes.resize(size);
  node->modified_time = state_->clock.wall_time();
}

void MemoryFileSystem::sync_file(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  const auto node = find_file(*state_, path, "fdatasync");
  node->synced_bytes = node->bytes;
}

void MemoryFileSystem::create_directories(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  auto node = state_->root;
  for (const std::string& part : internal::path_parts(path)) {
    if (!node->is_directory) internal::throw_errno(ENOTDIR, path, "mkdir");
    auto& child = node->entries[part];
    if (!child) {
      child = std::make_shared<internal::MemoryNode>(/*directory=*/true);
      node->synced_entries[part] = child;
    }
    node = child;
  }
  if (!node->is_directory) internal::throw_errno(EEXIST, path, "mkdir");
}

void MemoryFileSystem::sync_directory(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  const auto node = find_directory(*state_, path, "open");
  node->synced_entries = node->entries;
}

std::unique_ptr<FileLock> MemoryFileSystem::try_lock(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  auto node = find_or_make_file(*state_, path, "open");
  if (node->locked) return nullptr;
  return std::make_unique<internal::MemoryFileLock>(state_, std::move(node));
}

uint64_t MemoryFileSystem::free_bytes(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  find_node(*state_, path, "statvfs");
  return state_->free_bytes();
}

}  // namespace crochet::inline v0
