// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/summary_writer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/immortal.h"
#include "crochet/base/internal/log_lazily.h"
#include "crochet/base/internal/process_bound.h"
#include "crochet/base/log.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/by_directory.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/summary/internal/event_file_writer.h"
#include "crochet/summary/internal/json_lines_writer.h"
#include "crochet/summary/internal/plugin_summaries.h"

namespace crochet::inline v0 {
namespace {

internal::ByDirectory<SummaryWriter>& writers() {
  static internal::Immortal<internal::PerProcess<internal::ByDirectory<SummaryWriter>>> all;
  return **all;
}

std::vector<SummaryValue> values_of(std::span<const Scalar> scalars) {
  std::vector<SummaryValue> values;
  for (const Scalar& scalar : scalars)
    values.push_back({.tag = scalar.tag, .simple_value = scalar.value});
  return values;
}

}  // namespace

std::shared_ptr<SummaryWriter> SummaryWriter::for_directory(const std::string& directory,
                                                            FileSystem& files, Clock& clock) {
  return writers().find_or_make(
      directory, files, [&] { return std::make_shared<SummaryWriter>(directory, files, clock); });
}

SummaryWriter::SummaryWriter(const std::string& directory, FileSystem& files, Clock& clock)
    : directory_(files.fixed_path(directory)), files_(files), clock_(clock) {}

SummaryWriter::~SummaryWriter() {
  if (dropped_values_ == 0) return;
  internal::log_lazily(Severity::kWarning, [this] {
    return fmt::format("metrics in {}: {} values could not be written", directory_,
                       dropped_values_);
  });
}

template <typename Operation>
void SummaryWriter::locked(Operation operation) {
  std::string warning;
  {
    const std::lock_guard lock(mutex_);
    operation();
    warning = take_warning();
  }
  if (!warning.empty()) log_warning(warning);
}

void SummaryWriter::add_values(int64_t step, std::span<const SummaryValue> values,
                               std::string_view encoded) {
  if (values.empty() && encoded.empty()) return;
  std::vector<SummaryValue> in_json_lines(values.begin(), values.end());
  for (SummaryValue& value : decode_summary(encoded)) in_json_lines.push_back(std::move(value));
  locked([&] {
    write_values({.step = step,
                  .values = {values.begin(), values.end()},
                  .encoded_values = std::string(encoded)},
                 in_json_lines);
  });
}

void SummaryWriter::write_values(Event event, std::span<const SummaryValue> in_json_lines) {
  write_pending_start();
  event.wall_time = clock_.wall_time();
  const bool is_for_json_only =
      event.values.empty() && event.encoded_values.empty() && !event.run_metadata;
  const bool in_events = is_for_json_only || write_event(event);
  const bool in_lines = in_json_lines.empty() || attempt(json_lines_, [&] {
                          json_lines().write(event.step, event.wall_time, in_json_lines);
                        });
  has_history_ = true;
  if (!in_events || !in_lines) dropped_values_ += std::max<int64_t>(1, std::ssize(in_json_lines));
}

void SummaryWriter::add_scalars(int64_t step, std::span<const Scalar> scalars) {
  add_values(step, values_of(scalars));
}

void SummaryWriter::add_scalars(int64_t step, std::span<const Scalar> in_events,
                                std::span<const Scalar> in_json_lines) {
  if (in_events.empty() && in_json_lines.empty()) return;
  locked([&] {
    write_values({.step = step, .values = values_of(in_events)}, values_of(in_json_lines));
  });
}

void SummaryWriter::add_scalar(std::string_view tag, double value, int64_t step) {
  const SummaryValue point{.tag = std::string(tag), .simple_value = value};
  add_values(step, std::span(&point, 1));
}

void SummaryWriter::replace_from(int64_t step, std::span<const StepScalars> points) {
  const double time = clock_.wall_time();
  std::vector<std::pair<int64_t, std::vector<SummaryValue>>> lines;
  for (const StepScalars& each : points)
    lines.emplace_back(each.step, values_of(each.in_json_lines));
  locked([&] {
    const bool in_events = attempt(events_, [&] {
      // Twice: TensorBoard's dashboards ignore the first start of a directory.
      for (int i = 0; i < 2; ++i)
        events().write({.wall_time = time,
                        .step = step,
                        .session_log = SessionLogEntry{.status = SessionLog::kStart}});
      for (const StepScalars& each : points)
        events().write({.wall_time = time, .step = each.step, .values = values_of(each.in_events)});
      events().flush();
    });
    const bool in_lines =
        attempt(json_lines_, [&] { json_lines().replace_from(step, time, lines); });
    if (!in_events || !in_lines) dropped_values_ += std::ssize(points);
  });
}

void SummaryWriter::add_histogram(std::string_view tag, const Tensor& values, int64_t step) {
  const SummaryValue value{.tag = std::string(tag), .histogram = make_histogram(values)};
  add_values(step, std::span(&value, 1));
}

void SummaryWriter::add_text(std::string_view tag, Tensor strings, int64_t step) {
  if (strings.dtype() != DType::kString)
    throw InvalidArgumentError(
        fmt::format("text \"{}\": found a tensor {}, expected strings", tag, describe(strings)));
  const SummaryValue value{.tag = std::string(tag), .text = std::move(strings)};
  add_values(step, std::span(&value, 1));
}

void SummaryWriter::add_text(std::string_view tag, std::string text, int64_t step) {
  add_text(tag, Tensor::scalar(std::move(text)), step);
}

void SummaryWriter::add_image(std::string_view tag, const Tensor& pixels, int64_t step) {
  add_values(step, {}, internal::plugins::encode_image(tag, pixels));
}

void SummaryWriter::add_pr_curve(std::string_view tag, const Tensor& labels,
                                 const Tensor& predictions, int64_t step, int num_thresholds) {
  add_values(step, {},
             internal::plugins::encode_pr_curve(tag, labels, predictions, num_thresholds));
}

void SummaryWriter::add_layout(std::span<const LayoutCategory> layout) {
  add_values(0, {}, internal::plugins::encode_layout(layout));
}

void SummaryWriter::add_hyperparameters(std::span<const Hyperparameter> hyperparameters) {
  add_values(0, {}, internal::plugins::encode_hyperparameters(hyperparameters, clock_.wall_time()));
}

void SummaryWriter::add_hyperparameter_end(bool is_success) {
  const auto status = is_success ? internal::plugins::HyperparameterStatus::kSuccess
                                 : internal::plugins::HyperparameterStatus::kFailure;
  add_values(0, {}, internal::plugins::encode_hyperparameter_end(status, clock_.wall_time()));
}

void SummaryWriter::add_run_metadata(std::string_view tag, std::string run_metadata, int64_t step) {
  bool is_new = false;
  locked([&] {
    is_new = run_metadata_tags_.emplace(tag).second;
    if (!is_new) return;
    write_values({.step = step,
                  .run_metadata = TaggedRunMetadata{.tag = std::string(tag),
                                                    .run_metadata = std::move(run_metadata)}},
                 {});
  });
  if (!is_new)
    log_debug(fmt::format("{}: run metadata with the tag {} already exists", directory_, tag));
}

void SummaryWriter::start_session(int64_t step) {
  const std::lock_guard lock(mutex_);
  pending_start_ = step;
  is_start_pending_ = true;
}

// Called in each step.
void SummaryWriter::write_start() {
  if (is_start_pending_) locked([&] { write_pending_start(); });
}

void SummaryWriter::write_pending_start() {
  if (is_start_pending_) write_session_log({.status = SessionLog::kStart}, pending_start_);
}

void SummaryWriter::add_session_log(SessionLog status, int64_t step,
                                    std::string_view checkpoint_path) {
  locked([&] {
    write_session_log({.status = status, .checkpoint_path = std::string(checkpoint_path)}, step);
  });
}

void SummaryWriter::write_session_log(SessionLogEntry entry, int64_t step) {
  const double time = clock_.wall_time();
  const bool is_start = entry.status == SessionLog::kStart;
  const bool takes_back = is_start && (step > 0 || has_history());
  if (is_start) is_start_pending_ = false;
  write_event({.wall_time = time,
               .step = takes_back ? step + 1 : std::max<int64_t>(step, 0),
               .session_log = std::move(entry)});
  if (takes_back) attempt(json_lines_, [&] { json_lines().write_resumed(step, time); });
}

void SummaryWriter::flush() {
  locked([&] {
    if (events_) attempt(events_, [&] { events_->sync(); });
    if (json_lines_) attempt(json_lines_, [&] { json_lines_->sync(); });
  });
}

int64_t SummaryWriter::dropped_values() const {
  const std::lock_guard lock(mutex_);
  return dropped_values_;
}

// Called before the first file is created.
bool SummaryWriter::has_history() {
  if (!has_history_)
    attempt(events_, [&] {
      has_history_ = !event_files(files_, directory_).empty() ||
                     files_.exists(join_path(directory_, internal::kJsonLinesName));
    });
  return has_history_.value_or(true);
}

internal::EventFileWriter& SummaryWriter::events() {
  if (!events_) {
    has_history();
    events_ = std::make_shared<internal::EventFileWriter>(files_, clock_, directory_);
  }
  return *events_;
}

internal::JsonLinesWriter& SummaryWriter::json_lines() {
  if (!json_lines_)
    json_lines_ = std::make_shared<internal::JsonLinesWriter>(
        files_, join_path(directory_, internal::kJsonLinesName));
  return *json_lines_;
}

bool SummaryWriter::write_event(const Event& event) {
  return attempt(events_, [&] {
    events().write(event);
    events().flush();
  });
}

// A writer is closed after an error; the next add opens a new one.
template <typename Writer, typename Operation>
bool SummaryWriter::attempt(std::shared_ptr<Writer>& writer, Operation operation) {
  try {
    operation();
    return true;
  } catch (...) {
    if (!first_error_) first_error_ = std::current_exception();
    writer.reset();
    return false;
  }
}

// The log calls user code, so the line is logged after the mutex is released.
std::string SummaryWriter::take_warning() {
  if (!first_error_ || has_warned_) return {};
  has_warned_ = true;
  return fmt::format("metrics in {} are dropped until they can be written again: {}", directory_,
                     describe(first_error_));
}

}  // namespace crochet::inline v0
