// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/base/export.h"

namespace crochet::inline v0::tensorflow {

// Loads a library of custom operations, as Python's tf.load_op_library does: graphs
// that have them can be imported, built and run from then on, until the process ends. A second call
// for the same library does nothing.
//
// The library must have been built for the TensorFlow that this process runs.
//
// Thread-safe. Throws: NotFoundError for a path without a file; TensorFlow's error for a file that
// is not such a library, or whose operations have names that are taken.
CROCHET_EXPORT void load_op_library(const std::string& path);

}  // namespace crochet::inline v0::tensorflow
