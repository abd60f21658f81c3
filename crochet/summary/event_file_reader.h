// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"
#include "crochet/summary/event.h"
#include "crochet/summary/internal/record_file.h"

namespace crochet::inline v0 {

inline constexpr std::string_view kEventFilePrefix = "events.out.tfevents.";

// The seconds in the name (not the path) of an events file; unset for other files.
CROCHET_EXPORT std::optional<int64_t> event_file_seconds(std::string_view name);

// Paths of a directory's events files, oldest first; empty if there is no directory.
CROCHET_EXPORT std::vector<std::string> event_files(FileSystem& files,
                                                    const std::string& directory);

// Reads an events file, written by this library, TensorFlow or TensorBoard.
//
// A killed process may leave a truncated record at the end: read() throws there,
// after it has returned all events before it. Not thread-safe.
class CROCHET_EXPORT EventFileReader {
 public:
  EventFileReader(FileSystem& files, const std::string& path);

  // The next event; unset at the end of the file.
  // Throws: DataLossError with the offset if the record is truncated or damaged,
  // or is not an event.
  std::optional<Event> read();

 private:
  std::string path_;
  std::unique_ptr<ReadableFile> file_;
  internal::RecordReader records_;
};

// All events of a file. Throws: as EventFileReader::read().
CROCHET_EXPORT std::vector<Event> read_event_file(FileSystem& files, const std::string& path);

// The values measured at one step, by name.
using Metrics = std::map<std::string, double>;

// The points of all curves in a directory's events files, by step, as written by an evaluator in
// another process; without points invalidated by a later session. Empty if there is no directory.
// Incomplete records, which a process is writing or left when killed, are ignored.
//
// TensorFlow's read_eval_metrics. Values have single precision.
CROCHET_EXPORT std::map<int64_t, Metrics> read_eval_metrics(FileSystem& files,
                                                            const std::string& eval_dir);

namespace internal {

// The same with the time at which each step's last value was written, in seconds since 1970-01-01
// UTC.
struct TimedMetrics {
  Metrics metrics = {};
  double time = 0;
};
CROCHET_EXPORT std::map<int64_t, TimedMetrics> read_timed_metrics(FileSystem& files,
                                                                  const std::string& eval_dir);

}  // namespace internal
}  // namespace crochet::inline v0
