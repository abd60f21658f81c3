// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <utility>

namespace crochet {

// Keeps up to two objects that are not in use, which cost more to be made than to be used: rings
// and lanes, of which a save or a restore has two at once. Of more, the surplus is destroyed.
//
// T::is_usable() tells whether an object may be used again, by this process: in a forked child,
// those of the parent are destroyed.
//
// Thread-safe, without a lock: a process may be forked at any moment.
template <typename T>
class IdlePool {
 public:
  IdlePool() = default;
  ~IdlePool() {
    for (auto& idle : idle_) delete idle.load(std::memory_order_acquire);
  }
  IdlePool(const IdlePool&) = delete;
  IdlePool& operator=(const IdlePool&) = delete;

  // Null if there is none.
  std::unique_ptr<T> take() {
    for (auto& idle : idle_) {
      std::unique_ptr<T> object(idle.exchange(nullptr, std::memory_order_acq_rel));
      if (object && object->is_usable()) return object;
    }
    return nullptr;
  }

  void give_back(std::unique_ptr<T> object) {
    if (!object || !object->is_usable()) return;
    for (auto& idle : idle_) {
      T* none = nullptr;
      if (!idle.compare_exchange_strong(none, object.get(), std::memory_order_acq_rel)) continue;
      object.release();
      return;
    }
  }

 private:
  std::array<std::atomic<T*>, 2> idle_{};  // Owned.
};

}  // namespace crochet
