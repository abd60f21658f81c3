// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "crochet/copies/borrowed_array.h"
#include "crochet/engines/local/graph.h"
#include "crochet/session/session.h"
#include "tests/support/local_variables.h"

// For tests of arrays whose writers announce what they write.
namespace crochet::inline v0::local {

using Numbers = std::vector<int64_t>;

// Elements of the smallest array that is guarded, and of one that is copied in pieces.
inline constexpr size_t kSmall = 1024;
inline constexpr size_t kLarge = 700'000;

inline bool has_all(const Tensor& tensor, int64_t value) {
  return tensor.num_elements() > 0 &&
         std::ranges::all_of(tensor.flat<int64_t>(), [=](int64_t x) { return x == value; });
}

// Closed at first. Any thread may open it, more than once.
class Gate {
 public:
  void wait() const { is_open_.wait(false); }
  void open() {
    is_open_ = true;
    is_open_.notify_all();
  }

 private:
  std::atomic<bool> is_open_ = false;
};

// Records its notifications. `on_copy` is called before each piece is copied or read, on threads of
// the graph too until the fixture is destroyed: it must not refer to local variables of a test.
class RecordingBarrier final : public WriteBarrier {
 public:
  struct Call {
    std::string name;
    std::thread::id thread;
  };

  void before_write(const Numbers& array) {
    WriteBarrier::before_write(array.data(), array.data() + array.size());
  }
  std::vector<std::string> calls() const {
    std::vector<std::string> names;
    for (const Call& call : calls_) names.push_back(call.name);
    return names;
  }
  // True if all notifications were on this thread.
  bool was_called_here() const {
    return std::ranges::all_of(
        calls_, [](const Call& call) { return call.thread == std::this_thread::get_id(); });
  }

  std::function<void(const ArrayView& array)> on_copy;
  std::function<void()> on_raise = [] {};

 private:
  void raise() override {
    on_raise();
    calls_.push_back({"raise", std::this_thread::get_id()});
  }
  void lower() noexcept override {
    EXPECT_FALSE(has_pending());
    calls_.push_back({"lower", std::this_thread::get_id()});
  }
  void copy(const ArrayView& array, std::byte* to, size_t begin, size_t end) override {
    on_copy(array);
    WriteBarrier::copy(array, to, begin, end);
  }

  std::vector<Call> calls_;
};

// One thread copies in the background, once something is written, and does not begin before a gate
// is opened. The thread of the test may copy at any time.
class WriteBarrierTest : public testing::Test {
 protected:
  WriteBarrierTest() {
    graph_.set_copy_threads(2);
    step_ = graph_.add({.name = "step", .changes_borrowed = true, .kernel = [this](KernelContext&) {
                          on_step_();
                        }});
    barrier_->on_copy = [this](const ArrayView& array) {
      if (std::this_thread::get_id() == here_) {
        copied_here_.insert(array.data);
      } else {
        gate_.wait();
      }
    };
  }
  ~WriteBarrierTest() override { gate_.open(); }

  // An array of equal elements, with the barrier.
  Numbers& add(size_t size, int64_t value = 1) {
    Numbers& array = arrays_.emplace_back(size, value);
    add_view([&array] { return view_of(array); });
    return array;
  }
  void add_view(std::function<ArrayView()> view,
                std::function<std::shared_ptr<const void>()> owner = {}) {
    const std::string name = std::to_string(variables_.size());
    variables_.push_back(graph_.borrow(
        name, {.view = std::move(view), .barrier = barrier_, .owner = std::move(owner)}));
  }
  crochet::Session& session() {
    if (!session_) session_ = graph_.new_session("");
    return *session_;
  }
  Snapshot snapshot() { return session().snapshot(variables_); }
  // Of which threads copy all arrays.
  Snapshot copied_snapshot() {
    Numbers& written = add(kSmall);
    Snapshot result = snapshot();
    barrier_->before_write(written);
    return result;
  }
  void write(Numbers& array, int64_t value) {
    barrier_->before_write(array);
    std::ranges::fill(array, value);
  }
  bool was_copied_here(const Numbers& array) const {
    return copied_here_.contains(reinterpret_cast<const std::byte*>(array.data()));
  }

  const std::thread::id here_ = std::this_thread::get_id();
  Gate gate_;
  std::set<const std::byte*> copied_here_;
  std::deque<Numbers> arrays_;
  std::shared_ptr<RecordingBarrier> barrier_ = std::make_shared<RecordingBarrier>();
  Graph graph_;
  std::vector<Variable> variables_;
  std::function<void()> on_step_ = [] {};
  Operation step_;
  std::unique_ptr<crochet::Session> session_;
};

// Reads the elements of a tensor of the snapshot as a saver does.
inline Tensor read(const Snapshot& snapshot, size_t index) {
  const Tensor& tensor = snapshot.readable()[index].tensor;
  const ReadBytes elements = snapshot.pending(tensor);
  if (!elements) return tensor;
  constexpr size_t kPieceBytes = 1000;
  Tensor result(tensor.dtype(), tensor.shape());
  const std::span<std::byte> bytes = result.mutable_bytes();
  for (size_t begin = 0; begin < bytes.size(); begin += kPieceBytes)
    elements(begin, bytes.subspan(begin, std::min(kPieceBytes, bytes.size() - begin)));
  return result;
}

}  // namespace crochet::inline v0::local
