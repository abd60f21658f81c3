// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/base/log.h"

namespace crochet::inline v0 {

// Collects the library's log lines during the lifetime of this object, then restores
// the previous destination.
//
//   LogCapture log;
//   save_to_full_disk();
//   EXPECT_TRUE(log.contains("No space left"));
//
// Thread-safe. Captures nest like their scopes.
class CROCHET_EXPORT LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // The messages, in order; of all severities, or of one.
  std::vector<std::string> lines() const;
  std::vector<std::string> lines(Severity severity) const;
  // True if one of the messages contains `text`.
  bool contains(std::string_view text) const;
  void clear();

 private:
  mutable std::mutex mutex_;  // Guards what follows.
  std::vector<std::pair<Severity, std::string>> entries_;

  LogCallback previous_;  // Last: its initialiser starts the capture.
};

}  // namespace crochet::inline v0
