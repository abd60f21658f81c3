// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/summary_writer.h"

#include <filesystem>
#include <limits>
#include <map>
#include <system_error>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/io/path.h"

namespace crochet {
namespace {

// So that doubles beyond float's range become infinities when narrowed.
static_assert(std::numeric_limits<float>::is_iec559);

struct SharedWriters {
  using Key = std::pair<FileSystem*, std::string>;

  std::mutex mutex;  // Guards what follows.
  std::map<Key, std::weak_ptr<SummaryWriter>> writers;
};

// Leaked, so that it is there for threads that outlive main.
SharedWriters& shared_writers() {
  static auto* const writers = new SharedWriters;
  return *writers;
}

// One spelling for "runs/x", "runs/x/" and "./runs/x".
std::string cache_key(const std::string& directory) {
  std::error_code no_working_directory;
  std::filesystem::path path = std::filesystem::absolute(directory, no_working_directory);
  if (no_working_directory) path = directory;
  std::string key = path.lexically_normal().string();
  while (key.size() > 1 && key.back() == '/') key.pop_back();
  return key;
}

Event scalars_event(double time, int64_t step, std::span<const Scalar> scalars) {
  Event event{.wall_time = time, .step = step};
  event.values.reserve(scalars.size());
  for (const Scalar& scalar : scalars)
    event.values.push_back({.tag = scalar.tag, .simple_value = static_cast<float>(scalar.value)});
  return event;
}

void warn(const std::string& message) {
  if (!message.empty()) log_warning("{}", message);
}

}  // namespace

std::shared_ptr<SummaryWriter> SummaryWriter::for_directory(const std::string& directory,
                                                            FileSystem& files, Clock& clock) {
  SharedWriters& shared = shared_writers();
  const std::lock_guard lock(shared.mutex);
  std::erase_if(shared.writers, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<SummaryWriter>& entry = shared.writers[{&files, cache_key(directory)}];
  std::shared_ptr<SummaryWriter> writer = entry.lock();
  if (!writer) entry = writer = std::make_shared<SummaryWriter>(directory, files, clock);
  return writer;
}

SummaryWriter::SummaryWriter(std::string directory, FileSystem& files, Clock& clock)
    : directory_(std::move(directory)), files_(files), clock_(clock) {}

SummaryWriter::~SummaryWriter() {
  if (dropped_values_ > 0)
    log_warning("metrics in {}: {} values could not be written", directory_, dropped_values_);
}

void SummaryWriter::add_scalars(int64_t step, std::span<const Scalar> scalars) {
  if (scalars.empty()) return;
  std::string warning;
  {
    const std::lock_guard lock(mutex_);
    const double time = clock_.wall_time();
    const bool in_events = write_event(scalars_event(time, step, scalars));
    const bool in_json_lines =
        attempt(json_lines_, [&] { json_lines().write(step, time, scalars); });
    if (!in_events || !in_json_lines) dropped_values_ += std::ssize(scalars);
    warning = take_warning();
  }
  warn(warning);
}

void SummaryWriter::add_scalar(std::string_view tag, double value, int64_t step) {
  const Scalar scalar{.tag = std::string(tag), .value = value};
  add_scalars(step, std::span(&scalar, 1));
}

void SummaryWriter::add_session_log(SessionLog status, int64_t step,
                                    std::string_view checkpoint_path) {
  const bool is_resumed = status == SessionLog::kStart && step > 0;
  std::string warning;
  {
    const std::lock_guard lock(mutex_);
    const double time = clock_.wall_time();
    write_event({.wall_time = time,
                 .step = is_resumed ? step + 1 : step,
                 .session_log = SessionLogEntry{.status = status,
                                                .checkpoint_path = std::string(checkpoint_path)}});
    if (is_resumed) attempt(json_lines_, [&] { json_lines().write_resumed(step, time); });
    warning = take_warning();
  }
  warn(warning);
}

void SummaryWriter::flush() {
  std::string warning;
  {
    const std::lock_guard lock(mutex_);
    if (events_) attempt(events_, [&] { events_->sync(); });
    if (json_lines_) attempt(json_lines_, [&] { json_lines_->sync(); });
    warning = take_warning();
  }
  warn(warning);
}

int64_t SummaryWriter::dropped_values() const {
  const std::lock_guard lock(mutex_);
  return dropped_values_;
}

EventFileWriter& SummaryWriter::events() {
  if (!events_) events_.emplace(files_, clock_, directory_);
  return *events_;
}

JsonLinesWriter& SummaryWriter::json_lines() {
  if (!json_lines_) json_lines_.emplace(files_, join_path(directory_, kJsonLinesName));
  return *json_lines_;
}

bool SummaryWriter::write_event(const Event& event) {
  return attempt(events_, [&] {
    events().write(event);
    events().flush();
  });
}

// A writer that met an error is given up; the next add opens a new one.
template <typename Writer, typename Operation>
bool SummaryWriter::attempt(std::optional<Writer>& writer, Operation operation) {
  try {
    operation();
    return true;
  } catch (...) {
    if (!first_error_) first_error_ = std::current_exception();
    writer.reset();
    return false;
  }
}

// The log calls the user's code, so it gets its line when the mutex is free.
std::string SummaryWriter::take_warning() {
  if (!first_error_ || has_warned_) return {};
  has_warned_ = true;
  return fmt::format("metrics in {} are dropped until they can be written again: {}", directory_,
                     describe(first_error_));
}

}  // namespace crochet
