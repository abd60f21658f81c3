// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"
#include "crochet/summary/event.h"

namespace crochet::inline v0::internal {

inline constexpr std::string_view kJsonLinesName = "metrics.jsonl";

// Appends metrics to a text file that any tool can read, one JSON object per line:
//
//   {"step": 100, "time": 1700000000.25, "loss": 0.5, "accuracy": 0.875}
//   {"step": 100, "time": 1700000000.25, "weights": {"min": -0.5, "max": 0.5, "num": 2.0,
//    "sum": 0.0, "sum_squares": 0.5, "bucket_limit": [...], "bucket": [...]}}
//   {"step": 100, "time": 1700000000.25, "sample": "once upon a time"}
//   {"resumed_at": 100, "time": 1700000300.5}
//
// A number is a point of a curve, an object is a histogram (event.h), a string, or a list of
// strings, is a text.
// "step" counts completed steps, "time" is in seconds since 1970-01-01 UTC. Where
// a run resumes, a line with "resumed_at" invalidates all lines above it with a
// later step. JSON has no NaN and no infinities: they are the strings "NaN",
// "Infinity" and "-Infinity". A tag that would hide one of the three names gets a
// trailing "_"; bytes that are not UTF-8 become U+FFFD.
//
// Each line is one append, so it survives a kill of the process; an incomplete
// last line is removed when the file is opened again. After an error, open the
// file again with a new writer. Not thread-safe.
class CROCHET_EXPORT JsonLinesWriter {
 public:
  // Opens the file, or creates it.
  JsonLinesWriter(FileSystem& files, std::string path);

  void write(int64_t step, double time, std::span<const SummaryValue> values);
  void write_resumed(int64_t step, double time);
  // Invalidates the lines of `step` and later steps, and writes these instead, in one append.
  void replace_from(int64_t step, double time,
                    std::span<const std::pair<int64_t, std::vector<SummaryValue>>> points);
  // Returns once every line would survive a power cut.
  void sync();

 private:
  FileSystem& files_;
  std::string path_;
  std::unique_ptr<WritableFile> file_;
};

}  // namespace crochet::inline v0::internal
