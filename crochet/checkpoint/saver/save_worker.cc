// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/save_worker.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"

namespace crochet::internal {
namespace {

constexpr std::chrono::seconds kFirstRetryAfter(1);
// A signal's handler can wake nobody: who waits looks for one this often.
constexpr std::chrono::milliseconds kSignalSlice(100);

// The numbers of a full disk that was foreseen are told once, however often it is tried.
std::string failure_text(const SaveTicket& ticket, const std::exception_ptr& error,
                         const std::exception_ptr& previous) {
  const std::string reason = describe(error);
  if (previous && describe(previous) == reason)
    return fmt::format("saving {} failed again, for the same reason", ticket.prefix());
  return fmt::format("saving {} failed: {}", ticket.prefix(), reason);
}

void log_progress(Clock::Duration so_far) {
  log_info("waiting for a checkpoint to be written: {:.0f} s so far", to_seconds(so_far));
}

void request_stop(const std::optional<std::stop_source>& source) {
  if (source) std::stop_source(*source).request_stop();
}

}  // namespace

SaveWorker::SaveWorker(std::shared_ptr<Publisher> saver, int max_retries)
    : saver_(std::move(saver)), max_retries_(max_retries) {}

void SaveWorker::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
}

std::optional<SaveJob> SaveWorker::replace_next(SaveJob job) {
  std::optional<SaveJob> former;
  std::optional<std::stop_source> pause;
  {
    const std::lock_guard lock(mutex_);
    former = std::exchange(next_, std::move(job));
    if (former) ++num_superseded_;
    pause = pause_;
  }
  request_stop(pause);
  changed_.notify_all();
  return former;
}

void SaveWorker::wait_for_place() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !next_; });
}

bool SaveWorker::wait_for_turn() {
  std::optional<std::stop_source> pause;
  {
    const std::lock_guard lock(mutex_);
    if (is_idle()) return true;
    newer_is_due_ = true;
    pause = pause_;
  }
  request_stop(pause);
  std::unique_lock lock(mutex_);
  bool idle = false;
  while (pending_signal() == 0 && !idle)
    idle = changed_.wait_for(lock, kSignalSlice, [this] { return is_idle(); });
  newer_is_due_ = false;
  return idle;
}

void SaveWorker::wait(double progress_log_secs) {
  const std::chrono::duration<double> interval(progress_log_secs);
  const Clock::TimePoint start = saver_->clock().now();
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, interval, [this] { return is_idle(); })) {
    lock.unlock();  // The log calls others.
    log_progress(saver_->clock().now() - start);
    lock.lock();
  }
}

bool SaveWorker::wait_until(Clock::TimePoint deadline, double progress_log_secs) {
  Clock& clock = saver_->clock();
  const Clock::TimePoint start = clock.now();
  const Clock::Duration interval = from_seconds(progress_log_secs);
  while (true) {
    std::stop_source idle;
    bool saved = false;
    {
      const std::lock_guard lock(mutex_);
      if (is_idle()) return true;
      saved = is_saved();
      idle_ = idle;
    }
    const Clock::TimePoint now = clock.now();
    if (now >= deadline) return saved;
    if (now > start) log_progress(now - start);
    clock.sleep_for(std::min(interval, deadline - now), idle.get_token());
  }
}

void SaveWorker::hurry() {
  std::optional<std::stop_source> pause;
  {
    const std::lock_guard lock(mutex_);
    in_hurry_ = true;
    pause = pause_;
  }
  request_stop(pause);
}

void SaveWorker::leave_with(std::shared_ptr<void> held) {
  std::vector<Snapshot> snapshots;
  {
    const std::lock_guard lock(mutex_);
    held_ = std::move(held);
    if (running_) snapshots.push_back(running_->snapshot);
    if (next_) snapshots.push_back(next_->snapshot);
  }
  for (const Snapshot& snapshot : snapshots) {
    try {
      static_cast<void>(snapshot.tensors());
    } catch (...) {  // The worker meets it too, and says so.
    }
  }
}

bool SaveWorker::busy() {
  const std::lock_guard lock(mutex_);
  return !is_idle();
}

int64_t SaveWorker::num_superseded() {
  const std::lock_guard lock(mutex_);
  return num_superseded_;
}

std::vector<SaveTicket> SaveWorker::take_finished() {
  if (!any_finished_) return {};
  const std::lock_guard lock(mutex_);
  any_finished_ = false;
  return std::exchange(finished_, {});
}

std::vector<SaveTicket> SaveWorker::unfinished() {
  const std::lock_guard lock(mutex_);
  std::vector<SaveTicket> tickets;
  // One that is published is saved, though its memory may still be there.
  if (running_ && running_->ticket.stage() < SaveStage::kPublished)
    tickets.push_back(running_->ticket);
  if (next_) tickets.push_back(next_->ticket);
  return tickets;
}

std::string SaveWorker::last_published() {
  const std::lock_guard lock(mutex_);
  if (running_ && !running_->ticket.location().empty()) return running_->ticket.location();
  return last_published_;
}

SaveEstimate SaveWorker::estimate() {
  const std::lock_guard lock(mutex_);
  return estimate_;
}

void SaveWorker::work() {
  const auto wait_for_job = [this] {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return next_ || ending_; });
    return next_.has_value();
  };
  while (wait_for_job()) run_next();
  // Last: others may begin where this one worked, or take away what it worked with.
  std::shared_ptr<void> held;
  const std::lock_guard lock(mutex_);
  held.swap(held_);
}

void SaveWorker::run_next() {
  std::shared_ptr<SaveJob> job;
  {
    const std::lock_guard lock(mutex_);
    if (!next_) return;
    job = running_ = std::make_shared<SaveJob>(*std::exchange(next_, std::nullopt));
    busy_ = true;
  }
  changed_.notify_all();
  save(*job);
  {
    const std::lock_guard lock(mutex_);
    running_.reset();
    finished_.push_back(job->ticket);
    any_finished_ = true;
    if (!job->ticket.location().empty()) last_published_ = job->ticket.location();
  }
  job.reset();  // The memory is free, the announcement ends.
  std::optional<std::stop_source> idle;
  {
    const std::lock_guard lock(mutex_);
    busy_ = false;
    if (is_idle()) idle = std::exchange(idle_, std::nullopt);
  }
  request_stop(idle);
  changed_.notify_all();
}

void SaveWorker::save(SaveJob& job) {
  Clock::Duration duration = kFirstRetryAfter;
  std::exception_ptr previous;
  for (int number = 1;; ++number, duration *= 2) {
    const bool last = is_last(number);
    const std::exception_ptr error = attempt(job, last ? SpaceCheck::kIgnore : SpaceCheck::kRefuse);
    if (!error) return;
    const bool is_lost = job.snapshot.stored() != nullptr && job.snapshot.stored()->failed();
    if (is_lost || !saver_->may_try_again(job.ticket.prefix(), error))
      return give_up_at_once(job, error);
    if (last) return give_up(job, error, number);
    log_warning("{}; next attempt in {:g} s", failure_text(job.ticket, error, previous),
                to_seconds(duration));
    previous = error;
    if (pause(duration)) continue;
    log_warning("{} gives way to a newer save", job.ticket.prefix());
    return job.ticket.fail(error);
  }
}

std::exception_ptr SaveWorker::attempt(SaveJob& job, SpaceCheck check) {
  const Clock::TimePoint start = saver_->clock().now();
  try {
    saver_->write(job.snapshot, job.ticket, check);
  } catch (...) {
    return std::current_exception();
  }
  const double seconds = to_seconds(saver_->clock().now() - start);
  const std::lock_guard lock(mutex_);
  if (job.ticket.num_bytes() > 0) estimate_.measured(job.ticket.num_bytes(), seconds);
  return nullptr;
}

bool SaveWorker::is_last(int attempt) {
  const std::lock_guard lock(mutex_);
  return attempt > max_retries_ || in_hurry_ || pending_signal() != 0;
}

void SaveWorker::give_up_at_once(SaveJob& job, const std::exception_ptr& error) {
  log_error("saving {} failed: {}; no other attempt can help, training goes on",
            job.ticket.prefix(), describe(error));
  job.ticket.fail(error);
}

void SaveWorker::give_up(SaveJob& job, const std::exception_ptr& error, int num_attempts) {
  const std::string what =
      fmt::format("saving {} failed: {}", job.ticket.prefix(), describe(error));
  if (saver_->can_fall_back(job.snapshot, job.ticket)) {
    log_error("{}; after {} attempts, the fallback directory is tried", what, num_attempts);
    try {
      return saver_->write_to_fallback(job.snapshot, job.ticket);
    } catch (...) {
      log_error("saving {} into the fallback directory failed, too: {}", job.ticket.prefix(),
                describe(std::current_exception()));
    }
  }
  log_error("{}; given up after {} attempts, training goes on", what, num_attempts);
  job.ticket.fail(error);
}

bool SaveWorker::pause(Clock::Duration duration) {
  const auto gives_way = [this] { return next_ || newer_is_due_; };
  std::stop_source wake;
  {
    const std::lock_guard lock(mutex_);
    if (gives_way()) return false;
    if (in_hurry_) return true;
    pause_ = wake;
  }
  sleep_unless_signalled(saver_->clock(), duration, wake.get_token());
  const std::lock_guard lock(mutex_);
  pause_.reset();
  return !gives_way();
}

}  // namespace crochet::internal
