// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/base/internal/log_listener.h"
#include "crochet/base/internal/process_owner.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/journal/internal/journal_event.h"
#include "crochet/journal/internal/read_journal.h"

namespace crochet::inline v0::internal {

// Writes what happens to a run into events.jsonl in its directory, one line an event: see
// docs/operating.md. The run that holds the directory's lock writes it, from open() to end().
//
// Functions that record something are given a function that makes the event, as
// `[&] { return JournalEvent("saved", step).with("bytes", n); }`: what it throws when memory is
// short does not reach the run.
//
// When record() returns, the operating system has the line: it survives the death of the process.
// Only the start and the end of a life, and recoveries, are synced. The journal never ends a run:
// an error of a file is logged, once, and the events wait for the next attempt. Warnings and errors
// of the log are events, too, at most kMaxLogged a minute.
//
// In a forked process, nothing is recorded. Thread-safe.
class CROCHET_EXPORT Journal final : public LogListener {
 public:
  static constexpr int kMaxLogged = 60;

  // The journal of the run that begins in a directory. Until open() keeps the first events.
  // Requires: `files` and `clock` outlive this.
  static std::shared_ptr<Journal> begin(const std::string& directory, FileSystem& files,
                                        Clock& clock);
  // The journal of this process's run in a directory; null if it has no run there.
  static std::shared_ptr<Journal> find(const std::string& directory, FileSystem& files);

  // For begin().
  Journal(const std::string& directory, FileSystem& files, Clock& clock);
  ~Journal() override;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // A life begins, which `start` describes, at the time of begin(). Without the directory's lock,
  // which a run holds if it saves, there is no journal.
  template <typename Make>
  void open(const Make& make) noexcept {
    attempt([&] { open_with(make()); });
  }
  template <typename Make>
  void record(const Make& make) noexcept {
    attempt([&] { add(make(), /*is_durable=*/false); });
  }
  // The same for one that must survive a power cut.
  template <typename Make>
  void record_durably(const Make& make) noexcept {
    attempt([&] { add(make(), /*is_durable=*/true); });
  }
  // The life before this one, if it has not recorded its end: it was killed, or has crashed.
  std::optional<LastLife> unended_life() const;
  // The step that events without one of their own are after: the last that was made, or that to
  // which the run has gone back. Costs a store.
  void is_after(int64_t step) noexcept { step_.store(step, std::memory_order_relaxed); }
  // The error with which the life ends.
  void fail(const std::exception_ptr& error) noexcept;
  // The life ends, with that error if there is one. What follows is not recorded.
  template <typename Make>
  void end(const Make& make) noexcept {
    attempt([&] { add_end(make()); });
    close();
  }

  void on_line(Severity severity, std::string_view line) noexcept override;

 private:
  // Holds the mutex, and marks this thread as its holder.
  class Inside;
  struct Waiting {
    JournalEvent event;
    JournalStamp stamp;  // Without the life.
  };

  JournalStamp stamp() const;
  template <typename Action>
  static void attempt(const Action& action) noexcept {
    try {
      action();
    } catch (...) {  // Memory is short.
    }
  }
  void open_with(JournalEvent start);
  void add(JournalEvent event, bool is_durable);
  void add_end(JournalEvent event);
  void close() noexcept;
  // These require that the mutex is held.
  void keep(JournalEvent event);
  // Writes what waits. An error is kept in warning_.
  void write_waiting(bool is_durable) noexcept;
  // These throw what the file system throws.
  void open_file();
  void rotate();
  void write(const Waiting& waiting);
  // Logs warning_, without the mutex.
  void report() noexcept;

  const std::string directory_;
  FileSystem& files_;  // Not owned; outlives this.
  Clock& clock_;       // The same.
  const ProcessOwner owner_;

  mutable std::mutex mutex_;  // Guards what follows.
  enum class State { kWaiting, kOpen, kEnded };
  State state_ = State::kWaiting;
  JournalStamp start_;
  LastLife previous_;
  int64_t life_ = 0;
  std::atomic<int64_t> step_ = 0;  // The last that is known; written without the mutex, too.
  std::deque<Waiting> waiting_;    // Until they can be written.
  std::optional<DirectoryLock> lock_;
  std::shared_ptr<Directory> open_directory_;
  std::unique_ptr<WritableFile> file_;  // Null after an error.
  uint64_t num_bytes_ = 0;
  std::string start_line_;  // Each file begins with one.
  bool may_rotate_ = true;
  bool is_name_new_ = false;                // It may not survive a power cut yet.
  int64_t num_lost_ = 0;                    // Events that the next line reports.
  std::optional<Clock::TimePoint> minute_;  // When the counting of log lines began.
  int num_logged_ = 0;                      // In that minute.
  std::exception_ptr failure_;              // The error with which the life ends.
  std::string warning_;                     // Of the journal's own, to be logged.
  bool has_failed_ = false;                 // An error of a file was logged.
  // The thread that has the mutex: what it logs meanwhile is not recorded.
  mutable std::atomic<std::thread::id> inside_ = {};
};

}  // namespace crochet::inline v0::internal
