// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "crochet/checkpoint/format/internal/tensor_source.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_index.h"

namespace crochet::inline v0::internal {

// The data of safetensors files, which `open` holds by their indices in `files`. Checksums are
// compared only in files that have them.
std::unique_ptr<TensorSource> safetensors_data(std::vector<SafetensorsFile> files,
                                               std::unique_ptr<OpenFiles> open);

}  // namespace crochet::inline v0::internal
