// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"
#include "crochet/summary/event_file_reader.h"

namespace crochet::inline v0::internal {

// The numbers in a directory's metrics.jsonl, by step, in double precision; without lines that a
// later one invalidates (json_lines_writer.h). Of a tag that was written twice for a step, the last
// value. Histograms, texts, and lines of any other form are left out, such as an incomplete one
// that a killed process left. Empty if there is no such file.
CROCHET_EXPORT std::map<int64_t, Metrics> read_metric_lines(FileSystem& files,
                                                            const std::string& directory);

// In a line of an evaluator: when the checkpoint was made that the line's values are of.
// TensorBoard does not get it.
inline constexpr const char* kCheckpointTime = "checkpoint/time";

}  // namespace crochet::inline v0::internal
