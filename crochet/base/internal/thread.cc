// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/thread.h"

#include <unistd.h>

#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {
namespace {

constexpr size_t kMaxNameBytes = 15;  // Of pthread_setname_np().
// Nice values that differ by this weigh about 110 to 1024 (sched_prio_to_weight of Linux).
constexpr int kMoreNice = 10;

// Of the calling thread, which on Linux has a nice value of its own. Never raises it: a process may
// have been started with less.
void lower_priority() {
  [[maybe_unused]] const int nice = ::nice(kMoreNice);
  if (::sched_getscheduler(0) == SCHED_IDLE) return;
  const sched_param param{};
  ::sched_setscheduler(0, SCHED_BATCH, &param);
}

}  // namespace

struct Thread::Handle {
  std::thread thread;
};

Thread::Thread() noexcept = default;

Thread::Thread(const std::string& what, std::function<void()> body, Priority priority) {
  auto run = [name = what.substr(0, kMaxNameBytes), body = std::move(body), priority] {
    ::pthread_setname_np(::pthread_self(), name.c_str());
    if (priority == Priority::kBackground) lower_priority();
    body();
  };
  auto handle = std::make_unique<Handle>();  // First: a thread that runs needs an owner.
  try {
    handle->thread = std::thread(std::move(run));
  } catch (const std::system_error& error) {
    throw ResourceExhaustedError(fmt::format("{}: cannot start a thread: {}", what, error.what()));
  }
  handle_ = std::move(handle);
}

Thread::~Thread() {
  join();
  if (handle_) leave_to_parent(handle_.release());
}

Thread::Thread(Thread&& other) noexcept = default;

Thread& Thread::operator=(Thread&& other) noexcept {
  Thread former(std::move(*this));
  owner_ = other.owner_;
  handle_ = std::move(other.handle_);
  return *this;
}

void Thread::join() {
  if (!joinable()) return;
  handle_->thread.join();
  handle_.reset();
}

void Thread::detach() {
  if (!joinable()) return;
  handle_->thread.detach();
  handle_.reset();
}

}  // namespace crochet::inline v0::internal
