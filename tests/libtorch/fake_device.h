// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

namespace crochet {

// Two devices of a backend for tests, at::kPrivateUse1. As on a GPU, operators only queue what they
// do in the current stream, and what the program reads it waits for. What is queued is executed in
// an order that the test chooses, out of those that the events between the streams allow.
//
// Operators that write to their arguments are queued. Others, and copies to the CPU that are not
// non_blocking, wait for their stream. The memory is the CPU's; it is overwritten when it is freed.
//
// The functions are for any thread. The device executes nothing on its own: only within a call of a
// function of LibTorch or of these.
struct FakeDevice {
  enum class Order {
    kAtOnce,
    // The streams of the pool, in which DeviceCopies copies, run only when something waits for them
    // and in finish(); the others at once.
    kPoolLate,
    // The other way round.
    kPoolFirst,
  };

  // Resets the counters and failures. Executes everything that is queued.
  static void reset(Order order);
  static void set_order(Order order);
  // Executes everything that is queued, and in future all at once.
  static void finish();

  static at::Tensor to_device(const at::Tensor& tensor, int index = 0);
  // A stream that is not of the pool.
  static c10::Stream new_stream(int index = 0);
  // Queues a write of `value` to all elements, which no operator announces, in the current stream.
  static void write(const at::Tensor& tensor, float value);

  // From now on, until reset():
  static void fail_copies();   // Copies throw.
  static void fail_queries();  // Queries of events throw.
  static void fail_blocks();   // Streams cannot wait for events.

  // How often the program has waited for a stream, since reset().
  static int64_t num_waits();
  // How often a stream was made to wait for another one.
  static int64_t num_blocks();
  // How often an event was queried.
  static int64_t num_queries();
};

}  // namespace crochet
