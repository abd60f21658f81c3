// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/background_saver.h"

#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"

namespace crochet {
namespace {

constexpr std::chrono::seconds kFirstRetryAfter(1);

}  // namespace

BackgroundSaver::BackgroundSaver(Saver& saver, const BackgroundSaverOptions& options)
    : saver_(saver), options_(options) {
  if (options_.max_retries < 0)
    throw InvalidArgumentError("max_retries is {}, expected 0 or more", options_.max_retries);
  if (!(options_.progress_log_secs > 0))
    throw InvalidArgumentError("progress_log_secs is {}, expected more than 0",
                               options_.progress_log_secs);
}

BackgroundSaver::~BackgroundSaver() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (worker_.joinable()) worker_.join();
}

SaveTicket BackgroundSaver::enqueue(Snapshot snapshot, const std::string& save_path, int64_t step) {
  SaveTicket ticket(saver_.prefix_of(save_path, step), step, saver_.clock());
  Job job{std::move(snapshot), ticket, saver_.announce_write()};
  if (const std::optional<Job> former = replace_next(std::move(job))) {
    log_warning("{} is given up for {}: saves take longer than their interval",
                former->ticket.prefix(), ticket.prefix());
    SaveTicket(former->ticket)
        .fail(std::make_exception_ptr(CancelledError("given up for {}", ticket.prefix())));
  }
  if (options_.overlap == SaveOverlapPolicy::kNewestWins) return ticket;
  // Returning before the running save ends would hold a snapshot more.
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !next_; });
  return ticket;
}

std::optional<BackgroundSaver::Job> BackgroundSaver::replace_next(Job job) {
  std::unique_lock lock(mutex_);
  if (!worker_.joinable()) worker_ = std::thread(&BackgroundSaver::work, this);
  if (options_.overlap != SaveOverlapPolicy::kNewestWins)
    changed_.wait(lock, [this] { return !next_; });
  std::optional<Job> former = std::exchange(next_, std::move(job));
  if (former) ++num_superseded_;
  if (waiting_to_retry_) waiting_to_retry_->request_stop();
  changed_.notify_all();
  return former;
}

bool BackgroundSaver::busy() {
  const std::lock_guard lock(mutex_);
  return busy_ || next_;
}

int64_t BackgroundSaver::num_superseded() {
  const std::lock_guard lock(mutex_);
  return num_superseded_;
}

std::vector<SaveTicket> BackgroundSaver::take_finished() {
  if (!any_finished_) return {};
  const std::lock_guard lock(mutex_);
  any_finished_ = false;
  return std::exchange(finished_, {});
}

void BackgroundSaver::wait() {
  const std::chrono::duration<double> interval(options_.progress_log_secs);
  const auto start = saver_.clock().now();
  const auto is_idle = [this] { return !next_ && !busy_; };
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, interval, is_idle)) {
    lock.unlock();  // The log calls others.
    log_info("waiting for a checkpoint to be written: {:.0f} s so far",
             to_seconds(saver_.clock().now() - start));
    lock.lock();
  }
}

void BackgroundSaver::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return next_ || ending_; });
    if (!next_) return;
    Job job = *std::exchange(next_, std::nullopt);
    busy_ = true;
    changed_.notify_all();
    lock.unlock();
    save(job);
    const SaveTicket ticket = job.ticket;
    job = {{}, ticket, {}};  // The memory is free, the announcement ends.
    lock.lock();
    finished_.push_back(ticket);
    any_finished_ = true;
    busy_ = false;
    changed_.notify_all();
  }
}

void BackgroundSaver::save(Job& job) {
  Clock::Duration pause = kFirstRetryAfter;
  for (int attempt = 0;; ++attempt, pause *= 2) {
    std::exception_ptr error;
    try {
      return saver_.write(job.snapshot, job.ticket);
    } catch (...) {
      error = std::current_exception();
    }
    const std::string what =
        fmt::format("saving {} failed: {}", job.ticket.prefix(), describe(error));
    if (attempt == options_.max_retries || pending_signal() != 0) {
      log_error("{}; given up after {} attempts, training goes on", what, attempt + 1);
      return job.ticket.fail(error);
    }
    log_warning("{}; next attempt in {:g} s", what, to_seconds(pause));
    std::stop_source newer_save;
    {
      const std::lock_guard lock(mutex_);
      if (next_) newer_save.request_stop();
      waiting_to_retry_ = newer_save;
    }
    sleep_unless_signalled(saver_.clock(), pause, newer_save.get_token());
    {
      const std::lock_guard lock(mutex_);
      waiting_to_retry_.reset();
    }
    if (newer_save.stop_requested()) {
      log_warning("{} gives way to a newer save", job.ticket.prefix());
      return job.ticket.fail(error);
    }
  }
}

}  // namespace crochet
