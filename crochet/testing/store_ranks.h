// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <barrier>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/testing/memory_key_value_store.h"
#include "crochet/testing/store_group.h"

namespace crochet::inline v0 {

// Ranks that are threads of a test, in a StoreGroup each, with the time of a MemoryKeyValueStore.
//
//   StoreRanks ranks(4);
//   ranks.run([](const std::shared_ptr<Group>& group) { group->barrier(); });
class CROCHET_EXPORT StoreRanks {
 public:
  explicit StoreRanks(int size, double timeout_secs = 60)
      : size_(size), timeout_secs_(timeout_secs), all_(size) {}

  // Calls `body` in each rank, and returns once all calls have. May be called again: each time is
  // another generation.
  void run(const std::function<void(const std::shared_ptr<Group>&)>& body) {
    std::vector<std::shared_ptr<KeyValueStore>> stores;
    for (int rank = 0; rank < size_; ++rank) stores.push_back(store_.connect());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size_; ++rank)
      threads.emplace_back(
          [&, rank, store = std::move(stores[static_cast<size_t>(rank)])]() mutable {
            const GroupOptions options{.rank = rank,
                                       .size = size_,
                                       .name = "test",
                                       .generation = generation_,
                                       .timeout_secs = timeout_secs_,
                                       .clock = &store_.clock()};
            body(std::make_shared<StoreGroup>(std::exchange(store, nullptr), options));
          });
    for (std::thread& thread : threads) thread.join();
    ++generation_;
  }
  // In `body`: waits until all ranks are here, without the group.
  void meet() {
    store_.without_user([this] { all_.arrive_and_wait(); });
  }

  MemoryKeyValueStore& store() { return store_; }

 private:
  const int size_;
  const double timeout_secs_;
  int64_t generation_ = 0;
  MemoryKeyValueStore store_;
  std::barrier<> all_;
};

}  // namespace crochet::inline v0
