// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/testing/key_value_store.h"

namespace crochet::inline v0 {

// A store for ranks that are threads of one test, with a time of its own: while all of its users
// wait, and none for a key that exists, the time advances to the end of the shortest wait. A test
// of a deadline of hours therefore takes no time, and always ends in the same way.
//
//   MemoryKeyValueStore store;
//   auto first = store.connect(), second = store.connect();  // before any of them waits
//
// Thread-safe.
class CROCHET_EXPORT MemoryKeyValueStore {
 public:
  MemoryKeyValueStore();

  // One for each rank. Destroying it disconnects the user.
  std::shared_ptr<KeyValueStore> connect();
  // Calls `wait`, in which a user waits for something else than the store; the time may advance.
  void without_user(const std::function<void()>& wait);
  // From now on, functions of users throw an UnavailableError.
  void disconnect_all();

  // The store's time. Outlives it as long as this object lives.
  Clock& clock();
  std::vector<std::string> keys() const;  // Sorted.
  // The number of users that wait for a key.
  size_t num_waiting() const;

 private:
  class Table;
  class User;
  class TableClock;

  std::shared_ptr<Table> table_;
  std::shared_ptr<TableClock> clock_;
};

}  // namespace crochet::inline v0
