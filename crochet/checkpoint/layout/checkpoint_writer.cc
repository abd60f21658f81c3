// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/layout/checkpoint_writer.h"

namespace crochet::inline v0 {

const char* checkpoint_format_name(CheckpointFormat format) {
  return format == CheckpointFormat::kSafetensors ? "safetensors" : "tensor_bundle";
}

}  // namespace crochet::inline v0
