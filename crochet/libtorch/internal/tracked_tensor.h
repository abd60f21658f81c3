// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include <ATen/core/Tensor.h>

#include "crochet/copies/borrowed_array.h"
#include "crochet/tracking/tracker.h"

namespace crochet::inline v0::libtorch::internal {

// Tracks the elements of a tensor, which are saved and restored in place. Its memory may move; its
// type, shape and device stay. Snapshots copy it at once, but in the background
// - with a barrier, if it is in the CPU's memory, row-major, and that memory can be kept;
// - if it is on a device with streams: DeviceCopies, which takes a barrier for the promise that
//   operators write to the tensor, and no others.
//
// Requires: the tracker lists its parts at each save.
// Throws: InvalidArgumentError for a tensor that checkpoints cannot have.
void track_tensor(const Tracker& tracker, std::string_view name, const at::Tensor& tensor,
                  std::shared_ptr<WriteBarrier> barrier);

// Tracks a tensor that is a part of an array of several ranks, whichever tensor `tensor` is at a
// save. Requires: `tensor` outlives the graph. Throws: InvalidArgumentError for one that is not in
// the CPU's memory, row-major.
void track_shard(Tracker& tracker, const at::Tensor& tensor);

}  // namespace crochet::inline v0::libtorch::internal
