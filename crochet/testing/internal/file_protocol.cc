// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/internal/file_protocol.h"

#include <fmt/format.h>

#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {
namespace {

// "" and "." are the same directory.
std::string normalized(const std::string& directory) { return directory == "." ? "" : directory; }

}  // namespace

FileProtocol::File FileProtocol::create(const std::string& path) {
  const std::lock_guard lock(mutex_);
  unsynced_names_.insert(path);
  return named_[path] = std::make_shared<Record>(Record{.path = path});
}

FileProtocol::File FileProtocol::append_to(const std::string& path) {
  const std::lock_guard lock(mutex_);
  File& file = named_[path];
  if (!file) file = std::make_shared<Record>(Record{.path = path});
  return file;
}

void FileProtocol::begin(const File& file, const std::string& operation) {
  const std::lock_guard lock(mutex_);
  if (file->is_dead)
    violations_.push_back(fmt::format("{}: {} after an error", file->path, operation));
  else if (file->is_renamed && operation == "append")
    violations_.push_back(fmt::format("{}: {} after the rename", file->path, operation));
}

void FileProtocol::appended(const File& file) {
  const std::lock_guard lock(mutex_);
  file->is_unsynced = true;
}

void FileProtocol::synced(const File& file) {
  const std::lock_guard lock(mutex_);
  file->is_unsynced = false;
}

void FileProtocol::failed(const File& file) {
  const std::lock_guard lock(mutex_);
  file->is_dead = true;
}

void FileProtocol::begin_rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  const auto found = named_.find(from);
  if (found == named_.end()) return;
  if (found->second->is_dead)
    violations_.push_back(fmt::format("{}: rename to {} after an error", from, to));
  else if (found->second->is_unsynced)
    violations_.push_back(fmt::format("{}: rename to {} before a sync", from, to));
}

void FileProtocol::renamed(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  unsynced_names_.erase(from);
  unsynced_names_.insert(to);
  auto node = named_.extract(from);
  named_.erase(to);
  if (node.empty()) return;
  node.key() = to;
  node.mapped()->path = to;
  node.mapped()->is_renamed = true;
  named_.insert(std::move(node));
}

void FileProtocol::begin_link(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  const auto found = named_.find(from);
  if (found != named_.end() && (found->second->is_dead || found->second->is_unsynced))
    violations_.push_back(fmt::format("{}: link to {} before a sync", from, to));
}

void FileProtocol::linked(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  unsynced_names_.insert(to);
  const auto found = named_.find(from);
  if (found == named_.end()) return;
  found->second->is_renamed = true;
  named_[to] = found->second;
}

void FileProtocol::made_symbolic_link(const std::string& target, const std::string& path) {
  const std::lock_guard lock(mutex_);
  unsynced_names_.insert(path);
  if (const auto found = named_.find(target); found != named_.end()) named_[path] = found->second;
}

void FileProtocol::removed(const std::string& path) {
  const std::lock_guard lock(mutex_);
  named_.erase(path);
  unsynced_names_.erase(path);
}

void FileProtocol::directory_synced(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  std::erase_if(unsynced_names_, [&](const std::string& path) {
    return normalized(directory_of(path)) == normalized(directory);
  });
}

std::vector<std::string> FileProtocol::violations() const {
  const std::lock_guard lock(mutex_);
  return violations_;
}

std::vector<std::string> FileProtocol::unsynced_names() const {
  const std::lock_guard lock(mutex_);
  return {unsynced_names_.begin(), unsynced_names_.end()};
}

}  // namespace crochet::inline v0::internal
