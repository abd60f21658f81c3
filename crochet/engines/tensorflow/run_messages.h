// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "crochet/session/run_metadata.h"
#include "crochet/session/run_options.h"

namespace crochet::tensorflow::internal {

// TensorFlow's RunOptions; "" for the defaults. Each of debug_tensor_watches is a serialized
// DebugTensorWatch.
std::string serialize(const RunOptions& options);

// What a serialized RunMetadata says. The inputs of operations are those in its labels, "c = Add(a,
// b:1, ^d)"; those that come from other devices have none.
// Throws: DataLossError if the bytes are none.
RunMetadata parse_run_metadata(std::string_view bytes);

}  // namespace crochet::tensorflow::internal
