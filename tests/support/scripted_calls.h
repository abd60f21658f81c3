// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// For tests of the direct writer.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "crochet/io/internal/direct_calls.h"

namespace crochet::inline v0 {

// Counts the operating system's calls and lets the test answer some of them. A function that is
// set receives the number of the call, from 0 on, and returns its result; 0 makes the real call.
class ScriptedCalls : public internal::DirectCalls {
 public:
  using Answer = std::function<int(int n)>;

  Answer on_open, on_block_bytes, on_reserve, on_set_direct, on_write_at, on_truncate, on_sync;
  Answer on_make_ring, on_register, on_submit, on_wait;
  // Receives the request and its real result; returns the result to use.
  std::function<int(int n, const internal::IoRequest& request, int result)> on_result;

  int num_opens = 0, num_block_bytes = 0, num_reserves = 0, num_set_directs = 0;
  int num_write_ats = 0, num_truncates = 0, num_syncs = 0, num_rings = 0, num_registers = 0;
  int num_submits = 0, num_waits = 0, num_results = 0;

  int open(const internal::FilePlace& place, int flags) override {
    const int answer = ask(on_open, num_opens);
    return answer != 0 ? answer : internal::DirectCalls::open(place, flags);
  }
  int64_t block_bytes(int file) override {
    const int answer = ask(on_block_bytes, num_block_bytes);
    return answer != 0 ? answer : internal::DirectCalls::block_bytes(file);
  }
  int reserve(int file, int mode, uint64_t num_bytes) override {
    const int answer = ask(on_reserve, num_reserves);
    return answer != 0 ? answer : internal::DirectCalls::reserve(file, mode, num_bytes);
  }
  int set_direct(int file, bool direct) override {
    const int answer = ask(on_set_direct, num_set_directs);
    return answer != 0 ? answer : internal::DirectCalls::set_direct(file, direct);
  }
  // A positive answer limits the number of bytes written.
  ssize_t write_at(int file, std::span<const std::byte> bytes, uint64_t offset) override {
    const int answer = ask(on_write_at, num_write_ats);
    if (answer < 0) return answer;
    if (answer > 0 && static_cast<size_t>(answer) < bytes.size())
      bytes = bytes.first(static_cast<size_t>(answer));
    return internal::DirectCalls::write_at(file, bytes, offset);
  }
  int truncate(int file, uint64_t num_bytes) override {
    const int answer = ask(on_truncate, num_truncates);
    return answer != 0 ? answer : internal::DirectCalls::truncate(file, num_bytes);
  }
  int sync(int file) override {
    const int answer = ask(on_sync, num_syncs);
    return answer != 0 ? answer : internal::DirectCalls::sync(file);
  }
  int make_ring(unsigned num_entries, io_uring* ring) override {
    const int answer = ask(on_make_ring, num_rings);
    return answer != 0 ? answer : internal::DirectCalls::make_ring(num_entries, ring);
  }
  int register_buffer(io_uring* ring, std::span<std::byte> bytes) override {
    const int answer = ask(on_register, num_registers);
    return answer != 0 ? answer : internal::DirectCalls::register_buffer(ring, bytes);
  }
  int submit(io_uring* ring) override {
    const int answer = ask(on_submit, num_submits);
    return answer != 0 ? answer : internal::DirectCalls::submit(ring);
  }
  int wait(io_uring* ring, io_uring_cqe** completion) override {
    const int answer = ask(on_wait, num_waits);
    return answer != 0 ? answer : internal::DirectCalls::wait(ring, completion);
  }
  int result_of(const internal::IoRequest& request, int result) override {
    const std::lock_guard lock(mutex_);
    const int n = num_results++;
    return on_result ? on_result(n, request, result) : result;
  }

 private:
  int ask(const Answer& answer, int& count) {
    const std::lock_guard lock(mutex_);
    const int n = count++;
    return answer ? answer(n) : 0;
  }

  std::mutex mutex_;  // Guards the counts.
};

}  // namespace crochet::inline v0
