// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/log_capture.h"

namespace crochet::inline v0 {

LogCapture::LogCapture()
    : previous_(set_log_callback([this](Severity severity, std::string_view message) {
        const std::lock_guard lock(mutex_);
        entries_.emplace_back(severity, message);
      })) {}

LogCapture::~LogCapture() {
  set_log_callback(std::move(previous_));
  flush_log();  // A call in another thread may be in this object.
}

std::vector<std::string> LogCapture::lines() const {
  flush_log();
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& [severity, line] : entries_) lines.push_back(line);
  return lines;
}

std::vector<std::string> LogCapture::lines(Severity severity) const {
  flush_log();
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& [its_severity, line] : entries_)
    if (its_severity == severity) lines.push_back(line);
  return lines;
}

bool LogCapture::contains(std::string_view text) const {
  flush_log();
  const std::lock_guard lock(mutex_);
  for (const auto& [severity, line] : entries_)
    if (line.find(text) != std::string::npos) return true;
  return false;
}

void LogCapture::clear() {
  flush_log();
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

}  // namespace crochet::inline v0
