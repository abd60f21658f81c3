// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "crochet/io/file_system.h"

namespace crochet {

// What was measured at one step, by name.
using Metrics = std::map<std::string, double>;

// The points of all curves in a directory's events files, by step, as an evaluator in another
// process writes them; without those that a later session took back. None if there is no
// directory. What a process is writing just now, or was killed at, is left out.
//
// TensorFlow's read_eval_metrics. Values have single precision.
std::map<int64_t, Metrics> read_eval_metrics(FileSystem& files, const std::string& eval_dir);

}  // namespace crochet
