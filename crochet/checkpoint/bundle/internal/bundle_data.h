// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "crochet/checkpoint/bundle/internal/bundle_format.h"
#include "crochet/checkpoint/format/internal/tensor_source.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// The data files of a bundle. `files` is not owned and outlives the result.
std::unique_ptr<TensorSource> bundle_data(FileSystem& files, std::string prefix,
                                          const BundleHeader& header);

}  // namespace crochet::inline v0::internal
