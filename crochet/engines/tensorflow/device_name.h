// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "crochet/base/export.h"

namespace crochet::inline v0::tensorflow {

// A device, or a set of devices, as TensorFlow writes it:
// "/job:worker/replica:0/task:1/device:CPU:0". An unset part, "*" in the text, matches any.
struct DeviceName {
  std::optional<std::string> job = {};
  std::optional<int> replica = {};
  std::optional<int> task = {};
  std::optional<std::string> type = {};  // "CPU", "GPU".
  std::optional<int> index = {};         // Among the devices of that type.

  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

// Nothing if the text is invalid for TensorFlow. "" is any device; "/cpu:0" is "/device:CPU:0".
// If a part is repeated, the last one counts.
CROCHET_EXPORT std::optional<DeviceName> parse_device_name(std::string_view text);

// The text with its parts in TensorFlow's order; "" for any device.
CROCHET_EXPORT std::string to_string(const DeviceName& device);

// A letter, then letters, digits and "_".
CROCHET_EXPORT bool is_legal_job_name(std::string_view name);

}  // namespace crochet::inline v0::tensorflow
