// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/journal/internal/journal.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/immortal.h"
#include "crochet/base/internal/process_bound.h"
#include "crochet/base/log.h"
#include "crochet/io/internal/by_directory.h"
#include "crochet/io/internal/torn_line.h"
#include "crochet/journal/internal/read_journal.h"

namespace crochet::inline v0::internal {
namespace {

constexpr std::string_view kBegins[] = {"{\"event\":"};
// Before open(), and while they cannot be written; later events are counted as lost.
constexpr size_t kMaxWaiting = 100;

ByDirectory<Journal>& journals() {
  static Immortal<PerProcess<ByDirectory<Journal>>> all;
  return **all;
}

}  // namespace

class Journal::Inside {
 public:
  explicit Inside(const Journal& journal) : journal_(journal), lock_(journal.mutex_) {
    journal_.inside_ = std::this_thread::get_id();
  }
  ~Inside() { journal_.inside_ = std::thread::id(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  const Journal& journal_;
  const std::lock_guard<std::mutex> lock_;
};

std::shared_ptr<Journal> Journal::begin(const std::string& directory, FileSystem& files,
                                        Clock& clock) {
  auto journal = std::make_shared<Journal>(directory, files, clock);
  journals().replace(directory, files, journal);
  add_log_listener(journal);
  return journal;
}

std::shared_ptr<Journal> Journal::find(const std::string& directory, FileSystem& files) {
  return journals().find(directory, files);
}

Journal::Journal(const std::string& directory, FileSystem& files, Clock& clock)
    : directory_(files.fixed_path(directory)), files_(files), clock_(clock) {
  start_ = stamp();
}

Journal::~Journal() = default;

JournalStamp Journal::stamp() const {
  return {.life = life_,
          .step = step_.load(std::memory_order_relaxed),
          .time = clock_.wall_time(),
          .steady = to_seconds(clock_.now().time_since_epoch())};
}

void Journal::report() noexcept {
  std::string warning;
  {
    const Inside inside(*this);
    warning.swap(warning_);
  }
  if (!warning.empty()) log_warning(warning);
}

void Journal::open_with(JournalEvent start) {
  if (!owner_.is_here()) return;
  {
    const Inside inside(*this);
    if (state_ != State::kWaiting) return;
    try {
      lock_ = DirectoryLock::held_here(files_, directory_);
      if (lock_) open_directory_ = lock_->directory(files_);
      step_ = start_.step = start.step().value_or(0);
      waiting_.push_front({std::move(start), start_});
      state_ = lock_ ? State::kOpen : State::kEnded;
    } catch (...) {
      state_ = State::kEnded;
    }
    if (state_ == State::kOpen)
      write_waiting(/*is_durable=*/true);
    else
      waiting_.clear();
  }
  report();
}

void Journal::keep(JournalEvent event) {
  if (event.step()) step_ = std::max(step_.load(), *event.step());
  if (waiting_.size() < kMaxWaiting)
    waiting_.push_back({std::move(event), stamp()});
  else
    ++num_lost_;
}

void Journal::write_waiting(bool is_durable) noexcept {
  try {
    for (; !waiting_.empty(); waiting_.pop_front()) write(waiting_.front());
    if (!is_durable || !file_) return;
    file_->sync();
    if (std::exchange(is_name_new_, false)) open_directory_->sync_directory(directory_);
  } catch (...) {
    file_.reset();
    if (std::exchange(has_failed_, true)) return;
    try {
      warning_ =
          fmt::format("{}: events wait, as they cannot be written: {}",
                      join_path(directory_, kJournalName), describe(std::current_exception()));
    } catch (...) {  // Memory is short.
    }
  }
}

void Journal::open_file() {
  const std::string path = join_path(directory_, kJournalName);
  if (life_ == 0) {
    previous_ = last_life(*open_directory_, path);
    if (previous_.number == 0)
      previous_ = last_life(*open_directory_, join_path(directory_, kOldJournalName));
    life_ = previous_.number % kMaxCount + 1;
  }
  const TornLine torn = cut_torn_line(*open_directory_, path, kBegins);
  if (!torn.warning.empty()) warning_ = torn.warning;
  num_bytes_ = open_directory_->exists(path) ? open_directory_->file_size(path) : 0;
  file_ = open_directory_->append_to(path);
  is_name_new_ = true;
  if (!torn.begin.empty()) file_->append(torn.begin);
}

// If it fails, the file grows: losing events would be worse.
void Journal::rotate() {
  may_rotate_ = false;
  file_->sync();
  file_.reset();
  open_directory_->rename(join_path(directory_, kJournalName),
                          join_path(directory_, kOldJournalName));
  open_file();
  file_->append(std::string_view(start_line_));
  may_rotate_ = true;
}

void Journal::write(const Waiting& waiting) {
  if (!file_) open_file();
  if (num_bytes_ >= kMaxJournalBytes && may_rotate_) rotate();
  JournalStamp stamp = waiting.stamp;
  stamp.life = life_;
  std::string text;
  if (num_lost_ > 0) text = JournalEvent("lost").with("events", num_lost_).line(stamp);
  text += waiting.event.line(stamp);
  if (start_line_.empty()) start_line_ = text;  // The first event of a life.
  file_->append(std::string_view(text));
  num_bytes_ += text.size();
  num_lost_ = 0;
}

void Journal::add(JournalEvent event, bool is_durable) {
  if (!owner_.is_here() || inside_.load() == std::this_thread::get_id()) return;
  {
    const Inside inside(*this);
    if (state_ == State::kEnded) return;
    try {
      keep(std::move(event));
    } catch (...) {  // Memory is short.
      ++num_lost_;
    }
    if (state_ == State::kOpen) write_waiting(is_durable);
  }
  report();
}

std::optional<LastLife> Journal::unended_life() const {
  const Inside inside(*this);
  if (previous_.number == 0 || previous_.has_ended) return std::nullopt;
  return previous_;
}

void Journal::fail(const std::exception_ptr& error) noexcept {
  const Inside inside(*this);
  failure_ = error;
}

void Journal::add_end(JournalEvent event) {
  std::exception_ptr failure;
  {
    const Inside inside(*this);
    failure = failure_;
  }
  if (failure) event.with("error", describe(failure));
  add(std::move(event), /*is_durable=*/true);
}

void Journal::close() noexcept {
  if (!owner_.is_here()) return;
  const Inside inside(*this);
  state_ = State::kEnded;
  waiting_.clear();
  file_.reset();
  open_directory_.reset();
  lock_.reset();
}

void Journal::on_line(Severity severity, std::string_view line) noexcept {
  if (severity < Severity::kWarning || !owner_.is_here() ||
      inside_.load() == std::this_thread::get_id())
    return;
  {
    const Inside inside(*this);
    const Clock::TimePoint now = clock_.now();
    if (!minute_ || now - *minute_ >= std::chrono::minutes(1)) {
      minute_ = now;
      num_logged_ = 0;
    }
    if (++num_logged_ > kMaxLogged) {
      ++num_lost_;
      return;
    }
  }
  record([&] {
    return JournalEvent(severity == Severity::kError ? "error" : "warning").with("message", line);
  });
}

}  // namespace crochet::inline v0::internal
