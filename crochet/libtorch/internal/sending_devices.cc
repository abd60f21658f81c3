// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/sending_devices.h"

#include <algorithm>

#include <fmt/format.h>

namespace crochet::inline v0::libtorch::internal {

SendingDevices::SendingDevices(const TensorBackend& backend,
                               const std::vector<NamedTensor>& parameters,
                               const std::vector<NamedTensor>& buffers)
    : has_backend_(backend.make != nullptr), backend_device_(backend.device) {
  for (const auto* const values : {&parameters, &buffers})
    for (const NamedTensor& value : *values)
      if (const c10::Device device = of(value.tensor); place_of(device) == devices_.size())
        devices_.push_back(device);
}

c10::Device SendingDevices::of(const at::Tensor& tensor) const {
  return is_sent_by_backend(tensor) ? tensor.device() : c10::Device(c10::DeviceType::CPU);
}

std::string SendingDevices::describe(const at::Tensor& tensor) const {
  if (!is_sent_by_backend(tensor)) return "";
  return fmt::format(", sent by the backend from device {} of the rank", place_of(tensor.device()));
}

bool SendingDevices::is_sent_by_backend(const at::Tensor& tensor) const {
  return has_backend_ && tensor.device().type() == backend_device_;
}

size_t SendingDevices::place_of(c10::Device device) const {
  return static_cast<size_t>(std::find(devices_.begin(), devices_.end(), device) -
                             devices_.begin());
}

}  // namespace crochet::inline v0::libtorch::internal
