// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/log.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/chrono.h>

#include "crochet/base/internal/blocked_signal.h"
#include "crochet/base/internal/escape.h"
#include "crochet/base/internal/log_listener.h"
#include "crochet/base/internal/process_owner.h"

namespace crochet::inline v0 {
namespace {

constexpr size_t kMaxWaiting = 10'000;
constexpr int kMaxDepth = 10;

using SharedCallback = std::shared_ptr<const LogCallback>;

// Passes lines to the callback, one at a time. The callback is user code: it runs without the
// mutex, in the thread that came first, and other threads leave their lines to that thread.
class Sink {
 public:
  // Leaked, so that threads may log at exit.
  static Sink& get() {
    static Sink* const sink = [] {
      static internal::ForkActions actions = {before_fork, after_fork_in_parent,
                                              after_fork_in_child};
      internal::add_fork_actions(actions);
      return new Sink;
    }();
    return *sink;
  }

  SharedCallback callback() {
    const std::lock_guard lock(mutex_);
    return callback_;
  }
  // Sets `callback` in place of `expected`. False if there is another one.
  bool replace(const SharedCallback& expected, const SharedCallback& callback) {
    const std::lock_guard lock(mutex_);
    if (callback_ != expected) return false;
    callback_ = callback;
    return true;
  }

  void add(std::weak_ptr<internal::LogListener> listener) {
    const std::lock_guard lock(mutex_);
    std::erase_if(listeners_, [](const auto& each) { return each.expired(); });
    listeners_.push_back(std::move(listener));
  }

  void log(Severity severity, std::string_view message) {
    pass_to_listeners(severity, message);
    SharedCallback callback;
    switch (enter(severity, message, callback)) {
      case Turn::kNow:
        call(callback, severity, message);
        hand_over_waiting();
        return;
      case Turn::kWithinACall:
        call(callback, severity, message);
        --depth_;
        return;
      case Turn::kLater:
        return;
      case Turn::kNever:
        log_to_stderr(severity, message);
    }
  }

  void flush() {
    std::unique_lock lock(mutex_);
    if (caller_ == std::this_thread::get_id()) return;
    const uint64_t target = num_taken_;
    lock.unlock();
    for (uint64_t done = num_done_; done < target; done = num_done_) num_done_.wait(done);
  }

 private:
  struct Line {
    Severity severity;
    std::string message;
  };
  enum class Turn { kNow, kWithinACall, kLater, kNever };

  void pass_to_listeners(Severity severity, std::string_view message) noexcept {
    try {
      std::vector<std::shared_ptr<internal::LogListener>> alive;
      {
        const std::lock_guard lock(mutex_);
        for (const auto& each : listeners_)
          if (auto listener = each.lock()) alive.push_back(std::move(listener));
      }
      for (const auto& listener : alive) listener->on_line(severity, message);
    } catch (const std::bad_alloc&) {  // The callback still gets the line.
    }
  }

  Turn enter(Severity severity, std::string_view message, SharedCallback& callback) {
    const std::lock_guard lock(mutex_);
    callback = callback_;
    if (caller_ == std::this_thread::get_id()) {
      if (depth_ == kMaxDepth) return Turn::kNever;
      ++depth_;
      return Turn::kWithinACall;
    }
    const bool is_free = caller_ == std::thread::id();
    if (is_free) {
      caller_ = std::this_thread::get_id();
    } else {
      if (waiting_.size() >= kMaxWaiting) return Turn::kNever;
      waiting_.push_back({severity, std::string(message)});
    }
    ++num_taken_;
    return is_free ? Turn::kNow : Turn::kLater;
  }

  void hand_over_waiting() {
    Line line;
    for (SharedCallback callback; take_next(line, callback);)
      call(callback, line.severity, line.message);
  }

  // False if no line is waiting: then the next thread that logs makes the calls.
  bool take_next(Line& line, SharedCallback& callback) {
    SharedCallback former;  // Destroyed without the mutex: it may be the last owner.
    const std::lock_guard lock(mutex_);
    ++num_done_;
    num_done_.notify_all();
    former = std::exchange(callback, callback_);
    if (waiting_.empty()) {
      caller_ = {};
      return false;
    }
    line = std::move(waiting_.front());
    waiting_.pop_front();
    return true;
  }

  static void call(const SharedCallback& callback, Severity severity,
                   std::string_view message) noexcept {
    try {
      (*callback)(severity, message);
    } catch (...) {  // A failed log line must not end a training run.
    }
  }

  // The child has only the thread that forked: no other thread is in a call there.
  static void before_fork() { get().mutex_.lock(); }
  static void after_fork_in_parent() { get().mutex_.unlock(); }
  static void after_fork_in_child() {
    Sink& sink = get();
    const bool is_in_call = sink.caller_ == std::this_thread::get_id();
    if (!is_in_call) {
      sink.caller_ = {};
      sink.depth_ = 0;
    }
    sink.waiting_.clear();  // The parent logs them.
    sink.num_taken_ = sink.num_done_ + (is_in_call ? 1 : 0);
    sink.mutex_.unlock();
  }

  std::mutex mutex_;  // Guards what follows.
  SharedCallback callback_ = std::make_shared<const LogCallback>(log_to_stderr);
  std::vector<std::weak_ptr<internal::LogListener>> listeners_;
  std::thread::id caller_;  // The thread that is in a call, if any.
  int depth_ = 0;           // Of calls within its call; only that thread touches it.
  std::deque<Line> waiting_;
  uint64_t num_taken_ = 0;              // Lines, except those logged within a call.
  std::atomic<uint64_t> num_done_ = 0;  // Changed under the mutex; flush() waits without it.
};

}  // namespace

void log_to_stderr(Severity severity, std::string_view message) {
  if (severity == Severity::kDebug) return;
  const char letter = severity == Severity::kInfo      ? 'I'
                      : severity == Severity::kWarning ? 'W'
                                                       : 'E';
  const std::string line =
      fmt::format("{} {:%F %T} {}\n", letter, fmt::localtime(std::time(nullptr)),
                  internal::escape_text(message));
  const internal::BlockedSignal no_signal(SIGPIPE);  // If nobody reads it any more.
  std::fwrite(line.data(), 1, line.size(), stderr);
}

LogCallback internal::replace_log_callback(
    const std::function<LogCallback(const LogCallback& previous)>& make) {
  for (;;) {
    const SharedCallback current = Sink::get().callback();
    // All that may fail comes before the replacement.
    LogCallback previous = *current;
    if (Sink::get().replace(current, std::make_shared<const LogCallback>(make(previous))))
      return previous;
  }
}

LogCallback set_log_callback(LogCallback callback) {
  if (!callback) callback = log_to_stderr;
  return internal::replace_log_callback([&](const LogCallback&) { return callback; });
}

void internal::add_log_listener(std::weak_ptr<LogListener> listener) {
  Sink::get().add(std::move(listener));
}

void flush_log() { Sink::get().flush(); }

void log(Severity severity, std::string_view message) noexcept {
  try {
    Sink::get().log(severity, internal::escape_text(message));
  } catch (...) {  // Out of memory.
  }
}

void log_debug(std::string_view message) noexcept { log(Severity::kDebug, message); }
void log_info(std::string_view message) noexcept { log(Severity::kInfo, message); }
void log_warning(std::string_view message) noexcept { log(Severity::kWarning, message); }
void log_error(std::string_view message) noexcept { log(Severity::kError, message); }

}  // namespace crochet::inline v0
