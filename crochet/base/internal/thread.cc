// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/thread.h"

#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0 {

struct Thread::Handle {
  std::thread thread;
};

Thread::Thread() noexcept = default;

Thread::Thread(const std::string& what, std::function<void()> body) {
  try {
    handle_ = std::make_unique<Handle>(Handle{std::thread(std::move(body))});
  } catch (const std::system_error& error) {
    throw ResourceExhaustedError(fmt::format("{}: cannot start a thread: {}", what, error.what()));
  }
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

}  // namespace crochet::inline v0
