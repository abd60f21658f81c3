// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0::internal {

struct LocatedTensor;
// A tensor of a checkpoint, or a part of one.
struct TensorRequest {
  std::string name;
  std::optional<TensorSlice> slice = {};
};

// Reads many tensors of a checkpoint at the speed of the disk: each data file from start to end,
// ahead of the caller, as long as tensors are read in order().
//
//   CheckpointPass pass(reader, {{"model/w1"}, {"model/w2"}});
//   for (const size_t i : pass.order()) use(pass.read(i));
//
// Any other order works, too, but is slower. Requests that are not read are skipped. Up to 16 MiB
// are read ahead. Not thread-safe.
class CROCHET_EXPORT CheckpointPass {
 public:
  // Locates all requested tensors, without reading them. Requires: `reader` outlives this.
  // Throws: as CheckpointReader::read_slice() for errors that can be detected without reading:
  // missing names and slices, data files that are missing or too short.
  CheckpointPass(const CheckpointReader& reader, const std::vector<TensorRequest>& requests);
  // For the library's own use, with tensors that it has located.
  CheckpointPass(std::vector<LocatedTensor> located, const CheckpointReader& reader);
  ~CheckpointPass();
  CheckpointPass(const CheckpointPass&) = delete;
  CheckpointPass& operator=(const CheckpointPass&) = delete;

  // The indices of the requests, in the order of their location in the files.
  const std::vector<size_t>& order() const { return order_; }

  // As in CheckpointReader, for the request with this index.
  Tensor read(size_t number);
  void read_into(size_t number, std::span<std::byte> destination);

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::vector<size_t> order_;
};

}  // namespace crochet::inline v0::internal
