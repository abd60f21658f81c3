// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "crochet/session/session.h"

namespace crochet::inline v0::tensorflow::internal {

// Serializes TensorFlow's RunOptions; "" for the defaults. Each of debug_tensor_watches is a
// serialized DebugTensorWatch.
std::string serialize(const RunOptions& options);

// Parses a serialized RunMetadata. The inputs of operations are taken from its labels, "c = Add(a,
// b:1, ^d)"; inputs from other devices are missing there.
// Throws: DataLossError if the bytes are not a RunMetadata.
RunMetadata parse_run_metadata(std::string_view bytes);

}  // namespace crochet::inline v0::tensorflow::internal
