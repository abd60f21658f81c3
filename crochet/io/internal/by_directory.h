// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// The objects that write into directories: one for each directory, as long as somebody holds it.
// All spellings of a path are one: "runs/x", "runs/x/" and "./runs/x". Thread-safe.
//
// A forked process does not write to its parent's files: hold this in a PerProcess.
template <typename T>
class ByDirectory {
 public:
  // Null if nobody holds one.
  std::shared_ptr<T> find(const std::string& directory, FileSystem& files) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(key_of(directory, files));
    return found == objects_.end() ? nullptr : found->second.lock();
  }

  template <typename Make>
  std::shared_ptr<T> find_or_make(const std::string& directory, FileSystem& files,
                                  const Make& make) {
    const std::lock_guard lock(mutex_);
    std::erase_if(objects_, [](const auto& each) { return each.second.expired(); });
    std::weak_ptr<T>& entry = objects_[key_of(directory, files)];
    std::shared_ptr<T> object = entry.lock();
    if (!object) entry = object = make();
    return object;
  }

  // Instead of one that somebody holds.
  void replace(const std::string& directory, FileSystem& files, const std::shared_ptr<T>& object) {
    const std::lock_guard lock(mutex_);
    std::erase_if(objects_, [](const auto& each) { return each.second.expired(); });
    objects_[key_of(directory, files)] = object;
  }

 private:
  using Key = std::pair<FileSystem*, std::string>;

  static Key key_of(const std::string& directory, FileSystem& files) {
    std::string path = std::filesystem::path(files.fixed_path(directory)).lexically_normal();
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return {&files, std::move(path)};
  }

  std::mutex mutex_;  // Guards what follows.
  std::map<Key, std::weak_ptr<T>> objects_;
};

}  // namespace crochet::inline v0::internal
