// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/engines/tensorflow/internal/c_api.h"

namespace crochet::inline v0::tensorflow::internal {

// TensorFlow's options for a session. `target`: "" is this process; `config`: a serialized
// ConfigProto. Throws: InvalidArgumentError if it is invalid.
CROCHET_EXPORT SessionOptionsPtr session_options(const std::string& target,
                                                 const std::string& config);

}  // namespace crochet::inline v0::tensorflow::internal
