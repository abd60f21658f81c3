// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/log_capture.h"

namespace crochet {

LogCapture::LogCapture()
    : previous_(set_log_callback([this](Severity severity, std::string_view message) {
        const std::lock_guard lock(mutex_);
        entries_.emplace_back(severity, message);
      })) {}

LogCapture::~LogCapture() { set_log_callback(std::move(previous_)); }

std::vector<std::string> LogCapture::lines() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& [severity, line] : entries_) lines.push_back(line);
  return lines;
}

std::vector<std::string> LogCapture::lines(Severity severity) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& [its_severity, line] : entries_)
    if (its_severity == severity) lines.push_back(line);
  return lines;
}

bool LogCapture::contains(std::string_view text) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [severity, line] : entries_)
    if (line.find(text) != std::string::npos) return true;
  return false;
}

void LogCapture::clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

}  // namespace crochet
