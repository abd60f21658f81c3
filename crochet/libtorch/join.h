// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include <c10/core/DeviceType.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/version.h>

#include "crochet/base/internal/export.h"
#include "crochet/group/group.h"
#include "crochet/group/join.h"

namespace c10d {
class Store;
#if TORCH_VERSION_MAJOR >= 2
class Backend;
#else
class ProcessGroup;
#endif
}  // namespace c10d

namespace crochet::inline v0::libtorch {

// The base class of c10d::ProcessGroupNCCL and its like.
#if TORCH_VERSION_MAJOR >= 2
using C10dBackend = c10d::Backend;
#else
using C10dBackend = c10d::ProcessGroup;
#endif

// What exchanges the tensors of one kind of device between ranks, where Gloo would do it through
// the CPU's memory. nccl() of crochet/libtorch/nccl.h makes one for CUDA.
//
//   libtorch::DataParallel parallel(*net, group, {.backend = libtorch::nccl()});
struct TensorBackend {
  c10::DeviceType device = c10::DeviceType::CUDA;
  // Called once by each rank, at the same time. The store has keys of this backend alone. The
  // result has allreduce() and broadcast() for tensors on the device; their wait() may return
  // before they are made, if what the current stream is given later comes after them.
  std::function<c10::intrusive_ptr<C10dBackend>(const c10::intrusive_ptr<c10d::Store>& store,
                                                int rank, int size,
                                                std::chrono::milliseconds timeout)>
      make = {};
};

using JoinOptions = JoinGroupOptions;

// The same as crochet::join_group, also where torchrun serves a store of LibTorch at MASTER_ADDR
// and MASTER_PORT: there rank 0 listens on a free port, and passes its address on in that store. A
// store that outlives the processes of a job has the addresses of all its starts: each needs
// another JoinOptions::generation than the environment's restart count, if that stays the same.
//
//   int main() {
//     const std::shared_ptr<Group> group = libtorch::join();
CROCHET_EXPORT std::shared_ptr<Group> join(const JoinOptions& options = {});
CROCHET_EXPORT std::shared_ptr<Group> join(const GroupEnvironment& environment,
                                           const JoinOptions& options = {});

}  // namespace crochet::inline v0::libtorch
