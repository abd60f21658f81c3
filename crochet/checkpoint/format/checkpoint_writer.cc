// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/format/checkpoint_writer.h"

namespace crochet::inline v0 {

const char* checkpoint_format_name(CheckpointFormat format) {
  switch (format) {
    case CheckpointFormat::kTensorBundle:
      return "tensor_bundle";
    case CheckpointFormat::kSafetensors:
      return "safetensors";
    case CheckpointFormat::kTorch:
      return "torch";
  }
  return "";
}

}  // namespace crochet::inline v0
