// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "crochet/base/clock.h"
#include "crochet/io/file_system.h"
#include "crochet/summary/event.h"
#include "crochet/summary/record_file.h"

namespace crochet {

// Writes a new TensorBoard events file into a directory:
//
//   events.out.tfevents.<seconds, 10 digits>.<host>.<pid>.<n>
//
// a record file (record_file.h) of events (event.h), of which the first has the
// file version. TensorBoard reads a directory's files in the order of their
// names and never goes back, so the seconds are those of the clock or, if a file
// there is as young, one more than that file's.
//
// A call that meets a write error throws it, cuts the file behind the last flush
// that succeeded, so that no half of a record stays, and ends the writer: write
// on with a new one. The destructor discards what was not flushed. Not thread-safe.
class EventFileWriter {
 public:
  // Makes the directory if it is missing, and the file with its first event.
  // Leaves no file if that fails. Requires: `files` outlives this.
  EventFileWriter(FileSystem& files, const Clock& clock, std::string directory);

  // Adds an event to the buffer; flushes when there is much in it.
  void write(const Event& event);
  // Hands the buffer to the operating system: what was written survives the
  // death of the process.
  void flush();
  // Flushes; returns once file and name would survive a power cut.
  void sync();

  const std::string& path() const { return path_; }

 private:
  RecordWriter& records();
  template <typename Operation>
  void or_end(Operation operation);
  void end();

  FileSystem& files_;
  std::string directory_;
  std::string path_;
  std::optional<RecordWriter> records_;  // Absent after an error.
};

}  // namespace crochet
