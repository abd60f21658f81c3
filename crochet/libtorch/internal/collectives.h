// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "crochet/base/clock.h"
#include "crochet/base/error.h"
#include "crochet/group/group.h"
#include "crochet/libtorch/join.h"

namespace c10d {
class Work;
}  // namespace c10d

namespace crochet::inline v0::libtorch::internal {

// Operations on tensors by all ranks of a group, by LibTorch's Gloo, and for those on one kind of
// device by a backend of the program's. Each rank starts the same ones in the same order, with
// tensors of the same size and type, on the CPU or that device: with other sizes Gloo ends the
// process.
//
// After an error the connections are lost: each later call throws it again.
class Collectives {
 public:
  // Called by all ranks of the group, which outlives this. `host` is where the others reach this
  // rank, if it is rank 0; empty for MASTER_ADDR, or else the name of the machine. Throws:
  // UnavailableError; DeadlineExceededError; what the group throws.
  Collectives(Group& group, const std::string& host, double timeout_secs,
              const TensorBackend& backend);
  // Abandons what has been started. Others notice the end of the connections.
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  // Replaces the values by their sums over all ranks. Does not wait. For any thread, one at a time.
  void start_sum(const at::Tensor& values);
  // Replaces them by those of rank 0. Does not wait.
  void start_broadcast(const at::Tensor& values);
  // Waits for all that was started, or for a device lets the current stream wait.
  // Throws: DeadlineExceededError if the ranks need longer than the limit; UnavailableError if one
  // is lost. The message names the ranks that do not respond.
  void finish();

 private:
  struct Started;
  struct Connection;

  void connect(Group& group, const std::string& host, const TensorBackend& backend);
  // What exchanges the tensor.
  C10dBackend& backend_of(const at::Tensor& tensor) const;
  // Until the operation is done, the limit is over, or the group has lost a rank.
  void wait_for(c10d::Work& work);
  // Ends the connections, which others notice at once.
  void disconnect() noexcept;
  template <typename Operation>
  void guarded(const char* action, const Operation& operation);
  void fail [[noreturn]] (const std::string& action, const std::exception& error, bool is_timeout);
  std::string silent_ranks() noexcept;

  const Group& group_;
  const int rank_;
  const int size_;
  const double timeout_secs_;
  std::unique_ptr<Connection> connection_;
  std::exception_ptr error_;
};

}  // namespace crochet::inline v0::libtorch::internal
