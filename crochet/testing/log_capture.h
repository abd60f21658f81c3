// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/base/log.h"

namespace crochet {

// Collects what the library logs while this object lives; then the log goes
// where it went before.
//
//   LogCapture log;
//   save_to_full_disk();
//   EXPECT_TRUE(log.contains("No space left"));
//
// Thread-safe. Captures are nested, as their scopes are.
class LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // The messages, in order; of all severities, or of one.
  std::vector<std::string> lines() const;
  std::vector<std::string> lines(Severity severity) const;
  // True if one of the messages has `text` in it.
  bool contains(std::string_view text) const;
  void clear();

 private:
  mutable std::mutex mutex_;  // Guards what follows.
  std::vector<std::pair<Severity, std::string>> entries_;

  LogCallback previous_;  // Last: the log comes here from its set-up on.
};

}  // namespace crochet
