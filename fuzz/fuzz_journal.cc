// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What a run finds in its directory: the journal, and the files by which it is asked for something.
#include <memory>
#include <optional>
#include <string>

#include "crochet/base/log.h"
#include "crochet/control/internal/control_files.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/journal/internal/journal.h"
#include "crochet/journal/internal/read_journal.h"
#include "fuzz_target.h"

using namespace crochet;

namespace {

void read_control(std::string_view text) {
  MemoryFileSystem files;
  files.create_directories("run");
  for (const char* const name : {"run/control.json", "run/control.answer", "run/control.limit"})
    put_file(files, name, text);
  internal::ControlFiles control(files, "run");
  static_cast<void>(control.limit());
  if (const auto request = control.take()) {
    control.ask(*request);
    require(control.take() == request);
  }
  expect_typed_errors([&] { static_cast<void>(control.answer_to({.id = "1"})); });
}

// The next life continues any file, and can be read.
void continue_journal(std::string_view text) {
  MemoryFileSystem files;
  const internal::DirectoryLock lock(files, "run");
  put_file(files, "run/events.jsonl", text);
  const auto journal = internal::Journal::begin("run", files, Clock::real());
  journal->open([&] { return internal::JournalEvent("start"); });
  journal->record([&] { return internal::JournalEvent("saved", 5).with("checkpoint", text); });
  journal->end([&] { return internal::JournalEvent("end"); });
  const internal::JournalEntries found = internal::read_journal(files, "run");
  require(found.entries.size() >= 3 && found.entries.back().event == "end");
  require(internal::last_life(files, "run/events.jsonl").number == found.entries.back().stamp.life);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const LogCallback former = set_log_callback([](Severity, std::string_view) {});
  const std::string_view text = as_text(data, size);
  read_control(text);
  continue_journal(text);
  return 0;
}
