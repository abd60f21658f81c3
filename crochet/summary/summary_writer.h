// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "crochet/base/clock.h"
#include "crochet/io/file_system.h"
#include "crochet/summary/event.h"
#include "crochet/summary/event_file_writer.h"
#include "crochet/summary/json_lines_writer.h"
#include "crochet/summary/scalar.h"
#include "crochet/summary/summary_value.h"

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
// Of each value the events file knows first. A process that is killed between the two
// leaves a point that metrics.jsonl lacks; it belongs to a step that no checkpoint holds yet,
// since savers come last in a step, so the next session takes it back in both.
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
  // TensorBoard has single precision for points of curves, metrics.jsonl double.
  // `encoded` are further ones, the bytes of a Summary as TensorFlow's summary operations give
  // them; images and the like are not in metrics.jsonl.
  // Throws: DataLossError if `encoded` is no such message; then nothing is added.
  void add_values(int64_t step, std::span<const SummaryValue> values,
                  std::string_view encoded = {});
  void add_scalars(int64_t step, std::span<const Scalar> scalars);
  void add_scalar(std::string_view tag, double value, int64_t step);
  // How the tensor's elements are distributed; see make_histogram. Throws as that.
  void add_histogram(std::string_view tag, const Tensor& values, int64_t step);
  // A text in Markdown, or a tensor of strings of which TensorBoard makes a table.
  // Throws: InvalidArgumentError for a tensor of something else.
  void add_text(std::string_view tag, Tensor strings, int64_t step);
  void add_text(std::string_view tag, std::string text, int64_t step);
  // What the engine measured in the run that completed `step`: bytes of a RunMetadata
  // (traced_run.h), for TensorBoard. It takes one for each tag: a second one, of a step that was
  // made again, is left out with a log line.
  void add_run_metadata(std::string_view tag, std::string run_metadata, int64_t step);

  // Says that a session goes on from `step` completed steps, so that what was written for later
  // ones is lost: to be called by every hook that writes here, when a session is created. Files are
  // written only once there is something to write, or by write_start().
  void start_session(int64_t step);
  // Writes the start that was last announced, if it is not written yet.
  void write_start();

  // Adds a session's start, stop or checkpoint. For kStart, `step` is the number
  // of completed steps from which the session goes on: values that were
  // written for later steps are taken back. TensorBoard takes back those
  // from the event's step on, so the event has `step` + 1, and metrics.jsonl gets a line with
  // "resumed_at"; but for a start from step 0 where nothing was written before.
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
  void write_values(Event event, std::span<const SummaryValue> in_json_lines);
  void write_session_log(SessionLogEntry entry, int64_t step);
  void write_pending_start();
  bool has_history();
  // Calls `operation` under the mutex, and logs afterwards what there is to log.
  template <typename Operation>
  void locked(Operation operation);
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
  // The step from which a session goes on, until that is written.
  std::optional<int64_t> pending_start_;
  // True once there is something here that a start may take back; unset: not looked yet.
  std::optional<bool> has_history_;
  std::set<std::string, std::less<>> run_metadata_tags_;
  std::exception_ptr first_error_;
  bool has_warned_ = false;
  int64_t dropped_values_ = 0;
};

}  // namespace crochet
