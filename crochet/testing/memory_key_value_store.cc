// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/memory_key_value_store.h"

#include <algorithm>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <stop_token>
#include <utility>

#include "crochet/base/error.h"

namespace crochet::inline v0 {

class MemoryKeyValueStore::Table {
 public:
  void set(const std::string& key, std::string_view value) {
    const std::lock_guard lock(mutex_);
    check_connected();
    values_[key] = value;
    changed_.notify_all();
  }

  std::optional<std::string> get(const std::string& key, Clock::Duration timeout) {
    std::unique_lock lock(mutex_);
    const Wait wait = {.key = key, .end = now_ + timeout};
    const auto here = waits_.insert(waits_.end(), wait);
    advance_if_all_wait();
    changed_.wait(lock, [&] { return disconnected_ || !is_blocked(wait); });
    waits_.erase(here);
    check_connected();
    const auto found = values_.find(key);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

  int64_t add(const std::string& key, int64_t amount) {
    const std::lock_guard lock(mutex_);
    check_connected();
    return sums_[key] += amount;
  }

  void remove(const std::string& key) {
    const std::lock_guard lock(mutex_);
    check_connected();
    values_.erase(key);
    sums_.erase(key);
  }

  void add_user(int amount) {
    const std::lock_guard lock(mutex_);
    num_users_ += amount;
    advance_if_all_wait();
  }

  void disconnect_all() {
    const std::lock_guard lock(mutex_);
    disconnected_ = true;
    changed_.notify_all();
  }

  Clock::TimePoint now() const {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  std::vector<std::string> keys() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> keys;
    for (const auto& [key, value] : values_) keys.push_back(key);
    for (const auto& [key, value] : sums_) keys.push_back(key);
    std::ranges::sort(keys);
    return keys;
  }
  size_t num_waiting() const {
    const std::lock_guard lock(mutex_);
    return waits_.size();
  }

 private:
  struct Wait {
    std::string key;
    Clock::TimePoint end;
  };

  bool is_blocked(const Wait& wait) const { return !values_.contains(wait.key) && now_ < wait.end; }

  void advance_if_all_wait() {
    if (waits_.empty() || waits_.size() < num_users_) return;
    if (!std::ranges::all_of(waits_, [this](const Wait& wait) { return is_blocked(wait); })) return;
    now_ = std::ranges::min(waits_, {}, &Wait::end).end;
    changed_.notify_all();
  }

  void check_connected() const {
    if (disconnected_) throw UnavailableError("the store in memory is disconnected");
  }

  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
  std::map<std::string, int64_t> sums_;
  std::list<Wait> waits_;
  size_t num_users_ = 0;
  bool disconnected_ = false;
  // Not 0, so that an unset time point is noticed.
  Clock::TimePoint now_{std::chrono::hours(1)};
};

class MemoryKeyValueStore::User final : public KeyValueStore {
 public:
  explicit User(std::shared_ptr<Table> table) : table_(std::move(table)) { table_->add_user(1); }
  ~User() override { table_->add_user(-1); }
  User(const User&) = delete;
  User& operator=(const User&) = delete;

  void set(const std::string& key, std::string_view value) override { table_->set(key, value); }
  std::optional<std::string> get(const std::string& key, Clock::Duration timeout) override {
    return table_->get(key, timeout);
  }
  int64_t add(const std::string& key, int64_t amount) override { return table_->add(key, amount); }
  void remove(const std::string& key) override { table_->remove(key); }

 private:
  const std::shared_ptr<Table> table_;
};

class MemoryKeyValueStore::TableClock final : public Clock {
 public:
  explicit TableClock(std::shared_ptr<Table> table) : table_(std::move(table)) {}

  TimePoint now() const override { return table_->now(); }
  double wall_time() const override { return to_seconds(now().time_since_epoch()); }
  bool sleep_for(Duration duration, const std::stop_token& stop) override {
    if (stop.stop_requested()) return false;
    table_->get("a key that nobody sets", duration);
    return true;
  }

 private:
  const std::shared_ptr<Table> table_;
};

MemoryKeyValueStore::MemoryKeyValueStore()
    : table_(std::make_shared<Table>()), clock_(std::make_shared<TableClock>(table_)) {}

std::shared_ptr<KeyValueStore> MemoryKeyValueStore::connect() {
  return std::make_shared<User>(table_);
}

void MemoryKeyValueStore::without_user(const std::function<void()>& wait) {
  table_->add_user(-1);
  wait();
  table_->add_user(1);
}

void MemoryKeyValueStore::disconnect_all() { table_->disconnect_all(); }

Clock& MemoryKeyValueStore::clock() { return *clock_; }

std::vector<std::string> MemoryKeyValueStore::keys() const { return table_->keys(); }

size_t MemoryKeyValueStore::num_waiting() const { return table_->num_waiting(); }

}  // namespace crochet::inline v0
