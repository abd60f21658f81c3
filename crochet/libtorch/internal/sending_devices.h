// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "crochet/libtorch/internal/named_tensors.h"
#include "crochet/libtorch/join.h"

namespace crochet::inline v0::libtorch::internal {

// The devices from which tensors of a module are sent to other ranks: the CPU, and those whose
// tensors a backend exchanges. All ranks use them in the same order.
class SendingDevices {
 public:
  SendingDevices(const TensorBackend& backend, const std::vector<NamedTensor>& parameters,
                 const std::vector<NamedTensor>& buffers);

  const std::vector<c10::Device>& all() const { return devices_; }
  // Where a tensor of the module is sent from.
  c10::Device of(const at::Tensor& tensor) const;
  // ", sent by the backend from ...", or nothing. It is to be the same in all ranks, which may have
  // other numbers for their devices.
  std::string describe(const at::Tensor& tensor) const;

 private:
  bool is_sent_by_backend(const at::Tensor& tensor) const;
  size_t place_of(c10::Device device) const;

  const bool has_backend_;
  const c10::DeviceType backend_device_;
  std::vector<c10::Device> devices_;  // In the order of the tensors.
};

}  // namespace crochet::inline v0::libtorch::internal
