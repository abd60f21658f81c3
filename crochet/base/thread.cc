// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/thread.h"

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet {

Thread::Thread(const std::string& what, std::function<void()> body) {
  try {
    thread_ = std::make_unique<std::thread>(std::move(body));
  } catch (const std::system_error& error) {
    throw ResourceExhaustedError(fmt::format("{}: cannot start a thread: {}", what, error.what()));
  }
}

Thread::~Thread() {
  join();
  if (thread_) leave_to_parent(thread_.release());
}

Thread& Thread::operator=(Thread&& other) noexcept {
  Thread former(std::move(*this));
  owner_ = other.owner_;
  thread_ = std::move(other.thread_);
  return *this;
}

void Thread::join() {
  if (!joinable()) return;
  thread_->join();
  thread_.reset();
}

void Thread::detach() {
  if (!joinable()) return;
  thread_->detach();
  thread_.reset();
}

}  // namespace crochet
