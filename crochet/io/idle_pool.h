// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <utility>

namespace crochet::inline v0 {

// Keeps up to two idle objects that are expensive to create: rings, of which a save or a
// restore uses two at once. Further objects are destroyed.
//
// T::is_usable() reports whether this process may use an object again: in a forked child, the
// parent's objects are destroyed.
//
// Thread-safe, without a lock, since a process may be forked at any moment.
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

}  // namespace crochet::inline v0
