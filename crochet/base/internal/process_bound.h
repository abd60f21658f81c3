// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "crochet/base/internal/process_owner.h"

namespace crochet::inline v0::internal {

// Holds an object that only the process that created it may use and destroy. In a forked child,
// access throws: see ProcessOwner.
template <typename T>
class ProcessBound {
 public:
  // `what` names the object in errors; it must be a literal.
  template <typename... Args>
  explicit ProcessBound(const char* what, Args&&... args)
      : what_(what), object_(new T(std::forward<Args>(args)...)) {}
  ~ProcessBound() {
    if (owner_.is_here())
      delete object_;
    else
      leave_to_parent(object_);
  }
  ProcessBound(const ProcessBound&) = delete;
  ProcessBound& operator=(const ProcessBound&) = delete;

  bool is_here() const noexcept { return owner_.is_here(); }
  // Throws: FailedPreconditionError in a process forked since the construction.
  T& operator*() const {
    if (!owner_.is_here()) owner_.check(what_);  // Computes the length of the name.
    return *object_;
  }
  T* operator->() const { return &**this; }
  // For data that never changes and is valid in every process.
  T& unchecked() const noexcept { return *object_; }

 private:
  const ProcessOwner owner_;
  const char* const what_;
  T* const object_;  // Owned by the process that created it.
};

// Holds one object per process: a forked child creates its own and never touches its parent's.
//
// Thread-safe as far as T is.
template <typename T>
class PerProcess {
 public:
  using Make = std::function<std::unique_ptr<T>()>;

  // `make` creates the object of each process.
  explicit PerProcess(Make make = [] { return std::make_unique<T>(); })
      : make_(std::move(make)), current_(new Copy{.object = make_()}) {}
  ~PerProcess() {
    Copy* const copy = current_.load(std::memory_order_acquire);
    if (copy->owner.is_here())
      delete copy;
    else
      leave_to_parent(copy);
  }
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  T& operator*() {
    Copy* const copy = current_.load(std::memory_order_acquire);
    return copy->owner.is_here() ? *copy->object : own_instead_of(copy);
  }
  T* operator->() { return &**this; }

 private:
  struct Copy {
    const ProcessOwner owner = {};
    const std::unique_ptr<T> object;
  };

  // The object of this process. Requires: `copy` was that of another one. Out of line, so that an
  // access is two loads and a comparison.
  [[gnu::noinline]] T& own_instead_of(Copy* copy) {
    std::unique_ptr<Copy> own(new Copy{.object = make_()});
    // If another thread was first, `copy` now points to its copy.
    if (!current_.compare_exchange_strong(copy, own.get(), std::memory_order_acq_rel))
      return *copy->object;
    leave_to_parent(copy);
    return *own.release()->object;
  }

  const Make make_;
  std::atomic<Copy*> current_;  // Owned by the process that created it.
};

}  // namespace crochet::inline v0::internal
