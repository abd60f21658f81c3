// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"
#include "crochet/journal/internal/journal_event.h"

namespace crochet::inline v0::internal {

// The largest life and step that are read: a double has each number up to it exactly. Life 1
// follows it.
inline constexpr int64_t kMaxCount = int64_t{1} << 53;

// An event as it was read.
struct CROCHET_EXPORT JournalEntry {
  std::string event;
  JournalStamp stamp;
  // Its other fields. Those that are lists have the texts with a space between them; those of other
  // types are left out.
  std::map<std::string, std::string, std::less<>> texts;
  std::map<std::string, double, std::less<>> numbers;  // true is 1.

  // The value of a field; "" without it.
  std::string text(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
};

struct JournalEntries {
  std::vector<JournalEntry> entries;
  // The lines that are not events: torn by a power cut, or not ours.
  int64_t num_unreadable = 0;
};

// All that the journal of a run has, in its order. Nothing of it is trusted.
// Throws: NotFoundError without a journal; FailedPreconditionError for what is not a plain file;
// DataLossError for a file of more than twice kMaxJournalBytes, and as open_untrusted_file().
CROCHET_EXPORT JournalEntries read_journal(FileSystem& files, const std::string& directory);

// What the end of a file says of its last life.
struct LastLife {
  int64_t number = 0;      // 0 if the end names no life, or the file is missing.
  int64_t step = 0;        // The largest there.
  double time = 0;         // Of its last event, in seconds since 1970-01-01 UTC.
  bool has_ended = false;  // It has said so itself.
};
CROCHET_EXPORT LastLife last_life(FileSystem& files, const std::string& path);

}  // namespace crochet::inline v0::internal
