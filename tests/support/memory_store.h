// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/cloud/internal/object_store.h"
#include "crochet/io/internal/crc32c.h"

namespace crochet::inline v0::cloud::internal {

// A bucket in memory, for tests. Thread-safe.
class MemoryStore final : public ObjectStore {
 public:
  // Called before each operation, without the mutex: may throw, or do something else first.
  std::function<void(const std::string& operation)> before = {};
  // The same after it: what it throws hides that it was done.
  std::function<void(const std::string& operation)> after = {};
  double now = 1000;

  uint32_t put(const std::string& key, const HttpBody& body, const std::stop_token&) override {
    std::string text(body.size, '\0');
    body.read(0, std::as_writable_bytes(std::span(text)));
    call(before, "put " + key);
    set(key, text);
    call(after, "put " + key);
    return crochet::internal::crc32c(std::string_view(text));
  }
  void put_new(const std::string& key, const std::string& text, const std::stop_token&) override {
    call(before, "put_new " + key);
    {
      const std::scoped_lock lock(mutex_);
      if (!objects_.emplace(key, Object{text, now}).second) throw AlreadyExistsError(key);
    }
    call(after, "put_new " + key);
  }
  void get(const std::string& key, uint64_t offset, std::span<std::byte> into,
           const std::stop_token&) override {
    call(before, "get " + key);
    const std::string text = text_of(key);
    if (offset + into.size() > text.size()) throw DataLossError(key + " is short");
    std::memcpy(into.data(), text.data() + offset, into.size());
  }
  std::string get_text(const std::string& key, size_t, const std::stop_token&) override {
    call(before, "get_text " + key);
    return text_of(key);
  }
  ObjectListing list(const std::string& prefix, const std::stop_token&) override {
    call(before, "list " + prefix);
    const std::scoped_lock lock(mutex_);
    ObjectListing listing{.objects = {}, .time = now};
    for (const auto& [key, object] : objects_)
      if (key.starts_with(prefix))
        listing.objects.push_back({key, object.text.size(), object.time});
    return listing;
  }
  void remove(const std::string& key, const std::stop_token&) override {
    call(before, "remove " + key);
    {
      const std::scoped_lock lock(mutex_);
      objects_.erase(key);
    }
    call(after, "remove " + key);
  }

  void set(const std::string& key, const std::string& text) {
    const std::scoped_lock lock(mutex_);
    objects_[key] = {text, now};
  }
  std::vector<std::string> keys() const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> keys;
    for (const auto& [key, object] : objects_) keys.push_back(key);
    return keys;
  }
  std::string text_of(const std::string& key) const {
    const std::scoped_lock lock(mutex_);
    const auto found = objects_.find(key);
    if (found == objects_.end()) throw NotFoundError(key);
    return found->second.text;
  }

 private:
  struct Object {
    std::string text;
    double time;
  };

  static void call(const std::function<void(const std::string&)>& function,
                   const std::string& operation) {
    if (function) function(operation);
  }

  mutable std::mutex mutex_;
  std::map<std::string, Object> objects_;
};

}  // namespace crochet::inline v0::cloud::internal
