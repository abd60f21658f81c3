// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"
#include "crochet/summary/event.h"
#include "crochet/summary/internal/record_file.h"

namespace crochet::inline v0::internal {

// Writes a new TensorBoard events file into a directory:
//
//   events.out.tfevents.<seconds, 10 digits>.<host>.<pid>.<n>
//
// a record file (record_file.h) of events (event.h), the first of which has the
// file version. TensorBoard reads a directory's files in the order of their
// names and never goes back, so the seconds are those of the clock or, if an
// existing file is as new, one more than that file's.
//
// After a write error, a call throws it, truncates the file after the last successful
// flush, so that no partial record stays, and ends the writer: continue with a new
// one. The destructor discards unflushed events. Not thread-safe.
class CROCHET_EXPORT EventFileWriter {
 public:
  // Creates the directory if it is missing, and the file with its first event.
  // Leaves no file if that fails. Requires: `files` outlives this.
  EventFileWriter(FileSystem& files, const Clock& clock, std::string directory);

  // Adds an event to the buffer; flushes when the buffer is large.
  void write(const Event& event);
  // Passes the buffer to the operating system: written events survive the
  // death of the process.
  void flush();
  // Flushes; returns once file and name would survive a power cut.
  void sync();

  const std::string& path() const { return path_; }

 private:
  template <typename Operation>
  void or_end(Operation operation);
  void end();

  FileSystem& files_;
  std::string directory_;
  std::string path_;
  std::optional<RecordWriter> records_;  // Unset after an error.
};

}  // namespace crochet::inline v0::internal
