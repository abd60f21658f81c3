// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/process_owner.h"

#include <unistd.h>

#include <new>

#include <fmt/format.h>
#include <pthread.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {

constinit std::atomic<int> forks_so_far = 0;

namespace {

constinit std::atomic<ForkActions*> first_actions = nullptr;

template <typename Action>
void run_all(Action action) {
  for (ForkActions* each = first_actions.load(); each != nullptr; each = each->next)
    (each->*action)();
}

// Registers the fork handlers. Returns the number of forks so far; -1 if the system refuses.
int fork_generation() noexcept {
  static const bool is_registered =
      ::pthread_atfork([] { run_all(&ForkActions::before); },
                       [] { run_all(&ForkActions::in_parent); },
                       [] {
                         forks_so_far.fetch_add(1, std::memory_order_relaxed);
                         run_all(&ForkActions::in_child);
                       }) == 0;
  return is_registered ? forks_so_far.load(std::memory_order_relaxed) : -1;
}

struct LeftObject {
  const void* object;
  LeftObject* next;
};
constinit std::atomic<LeftObject*> left_objects = nullptr;

}  // namespace

ProcessOwner::ProcessOwner() noexcept : generation_(fork_generation()), pid_(::getpid()) {}

bool ProcessOwner::is_here_unregistered() const noexcept {
  return generation_ == -1 && pid_ == ::getpid();
}

void ProcessOwner::throw_forked(std::string_view what) const {
  throw FailedPreconditionError(fmt::format(
      "{}: belongs to process {}, from which process {} was forked", what, pid_, ::getpid()));
}

void add_fork_actions(ForkActions& actions) noexcept {
  static_cast<void>(fork_generation());  // Registers the fork handlers.
  actions.next = first_actions.load();
  while (!first_actions.compare_exchange_weak(actions.next, &actions)) continue;
}

void leave_to_parent(const void* object) noexcept {
  auto* const left = new (std::nothrow) LeftObject{object, left_objects.load()};
  if (left == nullptr) return;
  while (!left_objects.compare_exchange_weak(left->next, left)) continue;
}

}  // namespace crochet::inline v0::internal
