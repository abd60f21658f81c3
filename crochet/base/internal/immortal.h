// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace crochet::inline v0::internal {

// A static object that is never destroyed: threads, and the destructors of other static objects,
// may use it while the process exits.
//
//   static Immortal<Registry> registry(arguments);
//   return *registry;
//
// Every static object of the library with a destructor is held in one of these; tests/lifetime
// checks this. No thread_local object has a destructor, because `exit` destroys those before the
// static ones.
template <typename T>
class Immortal {
 public:
  template <typename... Args>
  explicit Immortal(Args&&... args) {
    ::new (storage_) T(std::forward<Args>(args)...);
  }
  Immortal(const Immortal&) = delete;
  Immortal& operator=(const Immortal&) = delete;

  T& operator*() { return *std::launder(reinterpret_cast<T*>(storage_)); }
  T* operator->() { return &**this; }

 private:
  alignas(T) std::byte storage_[sizeof(T)];
};

}  // namespace crochet::inline v0::internal
