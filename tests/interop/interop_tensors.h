// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "crochet/tensor/tensor.h"

// The description of a checkpoint's contents that the programs of tests/interop exchange with
// check_checkpoint.py and write_bundles.py.
namespace crochet {

inline std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

// {"dtype": "float32", "shape": [64, 128], "hex": "0000803f..."}; for strings, "hex" is a list.
inline nlohmann::json expectation(const Tensor& tensor) {
  nlohmann::json result = {{"dtype", dtype_name(tensor.dtype())},
                           {"shape", std::vector<int64_t>(tensor.shape().dimensions().begin(),
                                                          tensor.shape().dimensions().end())}};
  if (tensor.dtype() != DType::kString) {
    result["hex"] = hex(tensor.bytes());
  } else {
    result["hex"] = nlohmann::json::array();
    for (const std::string& string : tensor.strings())
      result["hex"].push_back(hex(std::as_bytes(std::span(string))));
  }
  return result;
}

}  // namespace crochet
