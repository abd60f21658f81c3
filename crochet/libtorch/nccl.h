// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// For programs with CUDA: compile with -DUSE_C10D_NCCL and the headers of CUDA and NCCL, and link
// torch_cuda. No other header of crochet includes this one, and the library does not need any of
// it.
#pragma once

#ifndef USE_C10D_NCCL
#error \
    "crochet/libtorch/nccl.h: compile with USE_C10D_NCCL defined, without which LibTorch's header is empty"
#endif

#include <chrono>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "crochet/libtorch/join.h"

namespace crochet::inline v0::libtorch {

// Exchanges tensors on GPUs by NCCL. Each rank has a GPU of its own, which is the current device of
// the thread that makes the DataParallel.
//
// NCCL does not report a rank that is lost: LibTorch's watchdog ends the process once a collective
// has taken longer than the limit (TORCH_NCCL_ASYNC_ERROR_HANDLING has alternatives).
inline TensorBackend nccl() {
  return {.device = c10::DeviceType::CUDA,
          .make = [](const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                     std::chrono::milliseconds timeout) -> c10::intrusive_ptr<C10dBackend> {
            auto options = c10d::ProcessGroupNCCL::Options::create();
            options->timeout = timeout;
            return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, options);
          }};
}

}  // namespace crochet::inline v0::libtorch
