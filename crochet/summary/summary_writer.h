// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "crochet/base/clock.h"
#include "crochet/io/file_system.h"
#include "crochet/summary/event.h"
#include "crochet/summary/event_file_writer.h"
#include "crochet/summary/json_lines_writer.h"
#include "crochet/summary/scalar.h"

namespace crochet {

// Writes a run's metrics into a directory, twice: as an events file for
// TensorBoard (event_file_writer.h) and as JSON lines in metrics.jsonl
// (json_lines_writer.h).
//
//   auto writer = SummaryWriter::for_directory("runs/digits");
//   writer->add_scalar("loss", 0.25, step);
//
// The directory and its files are made by the first add, so a run that trains
// nothing leaves none. What was added has been handed to the operating system
// when the call returns: it survives the death of the process.
//
// Metrics never end a run: no call throws because of the disk. The first error
// is logged as a warning, once a writer; what a file cannot take is dropped and
// counted, and every later add tries again. A file is then whole but for the
// values that were dropped.
//
// Thread-safe.
class SummaryWriter {
 public:
  // Hooks that write into one directory share one writer, hence one pair of
  // files, as long as one of them holds it. The first one's clock is used.
  static std::shared_ptr<SummaryWriter> for_directory(const std::string& directory,
                                                      FileSystem& files = FileSystem::posix(),
                                                      Clock& clock = Clock::real());

  // A writer of one's own: only one may write into a directory at a time.
  // Requires: `files` and `clock` outlive this.
  explicit SummaryWriter(std::string directory, FileSystem& files = FileSystem::posix(),
                         Clock& clock = Clock::real());
  // Logs how many values were dropped, if any were.
  ~SummaryWriter();

  SummaryWriter(const SummaryWriter&) = delete;
  SummaryWriter& operator=(const SummaryWriter&) = delete;

  // Adds the values found after `step` completed steps: one event, one line.
  // TensorBoard has single precision, metrics.jsonl double.
  void add_scalars(int64_t step, std::span<const Scalar> scalars);
  void add_scalar(std::string_view tag, double value, int64_t step);

  // Adds a session's start, stop or checkpoint. For kStart, `step` is the number
  // of completed steps from which the session goes on: values that an earlier
  // session wrote for later steps are taken back. TensorBoard takes back those
  // from the event's step on, so the event of a resumed start has `step` + 1;
  // metrics.jsonl gets a line with "resumed_at" if `step` is above 0.
  void add_session_log(SessionLog status, int64_t step, std::string_view checkpoint_path = {});

  // Returns once everything added would survive a power cut. Not needed for
  // readers to see it.
  void flush();

  const std::string& directory() const { return directory_; }
  // Values that did not reach both files.
  int64_t dropped_values() const;

 private:
  EventFileWriter& events();
  JsonLinesWriter& json_lines();
  bool write_event(const Event& event);
  template <typename Writer, typename Operation>
  bool attempt(std::optional<Writer>& writer, Operation operation);
  std::string take_warning();

  // Constant after construction.
  const std::string directory_;
  FileSystem& files_;  // Not owned.
  Clock& clock_;       // Not owned.

  mutable std::mutex mutex_;  // Guards what follows.
  std::optional<EventFileWriter> events_;
  std::optional<JsonLinesWriter> json_lines_;
  std::exception_ptr first_error_;
  bool has_warned_ = false;
  int64_t dropped_values_ = 0;
};

}  // namespace crochet
