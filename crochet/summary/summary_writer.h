// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"
#include "crochet/summary/event.h"

namespace crochet::inline v0 {

namespace internal {
class EventFileWriter;
class JsonLinesWriter;
}  // namespace internal

// A named number at some step: a point of a curve.
struct Scalar {
  std::string tag = {};
  double value = 0;
};

// The points of one step: those for TensorBoard, and those for metrics.jsonl.
struct StepScalars {
  int64_t step = 0;
  std::vector<Scalar> in_events = {};
  std::vector<Scalar> in_json_lines = {};
};

// What a run was started with: a number that was chosen for it, or a name.
using HyperparameterValue = std::variant<bool, int64_t, double, std::string>;
struct Hyperparameter {
  std::string name = {};
  HyperparameterValue value = {};

  friend bool operator==(const Hyperparameter&, const Hyperparameter&) = default;
};

// Charts of TensorBoard's page "Custom scalars". Tags are regular expressions.
struct LayoutChart {
  std::string title = {};
  std::vector<std::string> tags = {};
};
struct LayoutCategory {
  std::string title = {};
  std::vector<LayoutChart> charts = {};
};

// Writes a run's metrics into a directory, twice: as an events file for
// TensorBoard (event_file_writer.h) and as JSON lines in metrics.jsonl
// (json_lines_writer.h).
//
//   auto writer = SummaryWriter::for_directory("runs/digits");
//   writer->add_scalar("loss", 0.25, step);
//
// The directory and its files are created by the first add, so a run that trains
// nothing leaves none. When an add returns, the values are with the operating
// system: they survive the death of the process.
//
// Metrics never end a run: no call throws because of the disk. The first error
// is logged as a warning, once per writer; values that cannot be written are
// dropped and counted, and every later add tries again. A file is then complete
// except for the dropped values.
//
// Each value is written to the events file first. A process that is killed between the two
// writes leaves a point that metrics.jsonl lacks; it belongs to a step that no checkpoint contains
// yet, since savers come last in a step, so the next session invalidates it in both.
//
// Thread-safe.
class CROCHET_EXPORT SummaryWriter {
 public:
  // Hooks that write to one directory share one writer, hence one pair of files,
  // as long as one of them holds it. The clock of the first call is used.
  static std::shared_ptr<SummaryWriter> for_directory(const std::string& directory,
                                                      FileSystem& files = FileSystem::posix(),
                                                      Clock& clock = Clock::real());

  // A writer that is not shared: only one may write to a directory at a time.
  // Requires: `files` and `clock` outlive this.
  explicit SummaryWriter(const std::string& directory, FileSystem& files = FileSystem::posix(),
                         Clock& clock = Clock::real());
  // Logs the number of dropped values, if there are any.
  ~SummaryWriter();

  SummaryWriter(const SummaryWriter&) = delete;
  SummaryWriter& operator=(const SummaryWriter&) = delete;

  // Adds the values measured after `step` completed steps: one event, one line.
  // Points of curves have single precision in TensorBoard, double in metrics.jsonl.
  // `encoded` holds further values, as bytes of a Summary as produced by TensorFlow's summary
  // operations; images and other kinds are not written to metrics.jsonl.
  // Throws: DataLossError if `encoded` is not such a message; then nothing is added.
  void add_values(int64_t step, std::span<const SummaryValue> values,
                  std::string_view encoded = {});
  void add_scalars(int64_t step, std::span<const Scalar> scalars);
  // The same with other points in TensorBoard than in metrics.jsonl; each may be empty.
  void add_scalars(int64_t step, std::span<const Scalar> in_events,
                   std::span<const Scalar> in_json_lines);
  void add_scalar(std::string_view tag, double value, int64_t step);
  // Withdraws all that the directory has for `step` and later steps, and adds these points instead,
  // at once: a process that is killed meanwhile leaves the old ones or the new ones in a file.
  void replace_from(int64_t step, std::span<const StepScalars> points);
  // Adds the distribution of the tensor's elements. Throws: as make_histogram().
  void add_histogram(std::string_view tag, const Tensor& values, int64_t step);
  // Adds a text in Markdown, or a tensor of strings, which TensorBoard shows as a table.
  // Throws: InvalidArgumentError for a tensor of another type.
  void add_text(std::string_view tag, Tensor strings, int64_t step);
  void add_text(std::string_view tag, std::string text, int64_t step);
  // Adds an image, in TensorBoard only. Throws: InvalidArgumentError unless the pixels are uint8
  // [height, width, channels], with 1 (gray), 3 (RGB) or 4 (RGBA) channels.
  void add_image(std::string_view tag, const Tensor& pixels, int64_t step);
  // Adds the precision and recall of predictions between 0 and 1, at thresholds from 0 to 1, for
  // labels that are bools; in TensorBoard only. Throws: InvalidArgumentError for other types or
  // numbers, and fewer than 2 thresholds.
  void add_pr_curve(std::string_view tag, const Tensor& labels, const Tensor& predictions,
                    int64_t step, int num_thresholds = 201);
  // How TensorBoard's page "Custom scalars" arranges the curves of all runs that it shows.
  void add_layout(std::span<const LayoutCategory> layout);
  // With what the run was started, for TensorBoard's page "HParams", which compares runs; and that
  // it has ended.
  void add_hyperparameters(std::span<const Hyperparameter> hyperparameters);
  void add_hyperparameter_end(bool is_success);
  // Adds the engine's measurements of the run that completed `step`: bytes of a RunMetadata
  // (traced_run.h), for TensorBoard, which accepts one per tag: a second one, of a repeated step,
  // is logged and not written.
  void add_run_metadata(std::string_view tag, std::string run_metadata, int64_t step);

  // Announces that a session continues from `step` completed steps, so that values written for
  // later steps are invalid. Every hook that writes here calls it when a session is created. Files
  // are written only by the next add, or by write_start().
  void start_session(int64_t step);
  // Writes the last announced start, if it is not written yet.
  void write_start();

  // Adds a session's start, stop or checkpoint. For kStart, `step` is the number
  // of completed steps from which the session continues: values written for
  // later steps are invalidated. TensorBoard discards values from the event's
  // step on, so the event has `step` + 1, and metrics.jsonl gets a line with "resumed_at"; except
  // for a start from step 0 in a directory where nothing was written before.
  void add_session_log(SessionLog status, int64_t step, std::string_view checkpoint_path = {});

  // Returns once everything added would survive a power cut. Readers see values
  // without it.
  void flush();

  const std::string& directory() const { return directory_; }
  // The number of values that were not written to both files.
  int64_t dropped_values() const;

 private:
  internal::EventFileWriter& events();
  internal::JsonLinesWriter& json_lines();
  bool write_event(const Event& event);
  void write_values(Event event, std::span<const SummaryValue> in_json_lines);
  void write_session_log(SessionLogEntry entry, int64_t step);
  void write_pending_start();
  bool has_history();
  // Calls `operation` under the mutex, and logs pending warnings afterwards.
  template <typename Operation>
  void locked(Operation operation);
  template <typename Writer, typename Operation>
  bool attempt(std::shared_ptr<Writer>& writer, Operation operation);
  std::string take_warning();

  // Constant after construction.
  const std::string directory_;
  FileSystem& files_;  // Not owned.
  Clock& clock_;       // Not owned.

  mutable std::mutex mutex_;  // Guards what follows.
  std::shared_ptr<internal::EventFileWriter> events_;
  std::shared_ptr<internal::JsonLinesWriter> json_lines_;
  // The step from which a session continues, until its start is written.
  int64_t pending_start_ = 0;
  // Written under the mutex; write_start(), which is called in each step, reads it without.
  std::atomic<bool> is_start_pending_ = false;
  // True if there may be values that a start invalidates; unset: not checked yet.
  std::optional<bool> has_history_;
  std::set<std::string, std::less<>> run_metadata_tags_;
  std::exception_ptr first_error_;
  bool has_warned_ = false;
  int64_t dropped_values_ = 0;
};

}  // namespace crochet::inline v0
