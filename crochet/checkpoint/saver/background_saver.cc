// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/background_saver.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include <fmt/ranges.h>

#include "crochet/base/check_number.h"
#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/saver/publisher.h"
#include "crochet/checkpoint/saver/save_estimate.h"
#include "crochet/checkpoint/saver/save_promise.h"
#include "crochet/checkpoint/saver/save_source.h"

namespace crochet::inline v0 {
namespace {

using internal::Publisher;
using internal::SaveEstimate;
using internal::SpaceCheck;

constexpr std::chrono::seconds kFirstRetryAfter(1);

// The reason is logged only once if the same error occurs repeatedly.
std::string failure_text(const SaveTicket& ticket, const std::exception_ptr& error,
                         const std::exception_ptr& previous) {
  const std::string reason = describe(error);
  if (previous && describe(previous) == reason)
    return fmt::format("saving {} failed again, for the same reason", ticket.prefix());
  return fmt::format("saving {} failed: {}", ticket.prefix(), reason);
}

void log_progress(Clock::Duration so_far) {
  log_info(
      fmt::format("waiting for a checkpoint to be written: {:.0f} s so far", to_seconds(so_far)));
}

void request_stop(const std::optional<std::stop_source>& source) {
  if (source) std::stop_source(*source).request_stop();
}

}  // namespace

struct BackgroundSaver::Job {
  SaveSource source;
  SavePromise promise;
  std::shared_ptr<void> announcement;  // Announces the job to the publisher until it has ended.
};

// The state shared by the saver and its thread. Everything that the thread needs is in here or
// outlives all saves (file system and clock), so close() can detach the thread.
//
// Thread-safe; only the thread calls work().
struct BackgroundSaver::Queue {
  Queue(std::shared_ptr<Publisher> its_publisher, int its_max_retries)
      : publisher(std::move(its_publisher)), max_retries(its_max_retries) {}

  enum class WhenIdle { kWait, kReturn };

  // Writes jobs until no job is left and, with kWait, end() was called. Only one thread at a time.
  void work(WhenIdle when_idle);
  void end();
  // Calls `change` with the mutex held; then ends the pause before a retry, if there is one.
  template <typename Change>
  void change_and_wake(const Change& change) {
    std::optional<std::stop_source> to_end;
    {
      const std::lock_guard lock(mutex);
      change();
      to_end = pause;
    }
    request_stop(to_end);
    changed.notify_all();
  }
  // Waits until no job is next: the thread has taken it.
  void wait_for_place();
  // Waits until no save runs before the one that is next. Does not wait for an idle thread to wake
  // up and take it.
  void wait_for_former();

  // These require that the mutex is held.
  bool is_idle() const { return !next && !busy; }
  // Nothing is left to be saved, though memory may still be freed.
  bool is_saved() const { return !next && !running; }
  void note_finished(const SaveTicket& ticket);

  // Tries until the job is published, is abandoned, or is superseded by a newer one.
  void save(Job& job);
  bool is_last(int attempt);
  // The job is durable: training may change what its snapshot reads in place. Its memory is freed
  // later, as that takes long.
  void end_copies(Job& job);
  // Records how long a save took that started then.
  void measure(const SaveTicket& ticket, Clock::TimePoint start);
  void abandon(Job& job, const std::exception_ptr& error, int num_attempts);
  void fail(Job& job, const std::exception_ptr& error);
  // False if the job is superseded.
  bool pause_for(Clock::Duration duration);

  const std::shared_ptr<Publisher> publisher;
  const int max_retries;

  std::mutex mutex;  // Guards what follows.
  std::condition_variable changed;
  std::optional<Job> next;
  std::shared_ptr<Job> running;  // Set until it is saved or has failed.
  bool busy = false;             // Also set until its memory is freed.
  bool newer_is_due = false;     // A caller waits in wait_for_turn().
  bool in_hurry = false;
  bool ending = false;
  std::optional<std::stop_source> pause;  // Ends the pause before a retry.
  std::optional<std::stop_source> idle;   // Ends a wait with a deadline.
  int64_t num_superseded = 0;
  std::string last_published;
  SaveEstimate estimate;
  std::vector<SaveTicket> finished;
  std::atomic<bool> any_finished = false;  // Read without the mutex, in every step.
  std::shared_ptr<void> held;
};

void BackgroundSaver::Queue::end() {
  {
    const std::lock_guard lock(mutex);
    ending = true;
  }
  changed.notify_all();
}

void BackgroundSaver::Queue::wait_for_place() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return !next; });
}

void BackgroundSaver::Queue::wait_for_former() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return !next || !busy; });
}

void BackgroundSaver::Queue::work(WhenIdle when_idle) {
  while (true) {
    std::shared_ptr<Job> job;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return next || ending || when_idle == WhenIdle::kReturn; });
      if (!next) break;
      job = running = std::make_shared<Job>(*std::exchange(next, std::nullopt));
      busy = true;
    }
    changed.notify_all();
    save(*job);
    {
      const std::lock_guard lock(mutex);
      running.reset();
      note_finished(job->promise.ticket());
    }
    job.reset();  // Frees the memory and ends the announcement.
    std::optional<std::stop_source> to_end;
    {
      const std::lock_guard lock(mutex);
      busy = false;
      if (is_idle()) to_end = std::exchange(idle, std::nullopt);
    }
    request_stop(to_end);
    changed.notify_all();
  }
  // Last: once `held` is released, others may save here, or destroy what this thread has used.
  std::shared_ptr<void> last;
  const std::lock_guard lock(mutex);
  last.swap(held);
}

void BackgroundSaver::Queue::save(Job& job) {
  Clock::Duration duration = kFirstRetryAfter;
  std::exception_ptr previous;
  for (int number = 1;; ++number, duration *= 2) {
    const bool last = is_last(number);
    const Clock::TimePoint start = publisher->clock().now();
    std::exception_ptr error;
    try {
      publisher->write(job.source, job.promise, last ? SpaceCheck::kIgnore : SpaceCheck::kRefuse,
                       [&] { end_copies(job); });
      return measure(job.promise.ticket(), start);
    } catch (...) {
      error = std::current_exception();
    }
    if (job.source.is_lost() || !publisher->may_try_again(job.promise.ticket().prefix(), error)) {
      log_error(fmt::format("saving {} failed: {}; retrying cannot help, training continues",
                            job.promise.ticket().prefix(), describe(error)));
      return fail(job, error);
    }
    if (last) return abandon(job, error, number);
    log_warning(fmt::format("{}; next attempt in {:g} s",
                            failure_text(job.promise.ticket(), error, previous),
                            to_seconds(duration)));
    previous = error;
    if (pause_for(duration)) continue;
    log_warning(fmt::format("{} is superseded by a newer save", job.promise.ticket().prefix()));
    return fail(job, error);
  }
}

void BackgroundSaver::Queue::end_copies(Job& job) {
  std::vector<std::shared_ptr<PendingCopies>> copies;  // Ends without the mutex.
  const std::lock_guard lock(mutex);
  copies = job.source.take_copies();
}

void BackgroundSaver::Queue::note_finished(const SaveTicket& ticket) {
  finished.push_back(ticket);
  any_finished = true;
  if (!ticket.location().empty()) last_published = ticket.location();
}

void BackgroundSaver::Queue::measure(const SaveTicket& ticket, Clock::TimePoint start) {
  const Clock::Duration duration = publisher->clock().now() - start;
  const std::lock_guard lock(mutex);
  if (ticket.num_bytes() > 0) estimate.measured(ticket.num_bytes(), to_seconds(duration));
}

bool BackgroundSaver::Queue::is_last(int attempt) {
  const std::lock_guard lock(mutex);
  return attempt > max_retries || in_hurry || pending_signal() != 0;
}

void BackgroundSaver::Queue::abandon(Job& job, const std::exception_ptr& error, int num_attempts) {
  const std::string what =
      fmt::format("saving {} failed: {}", job.promise.ticket().prefix(), describe(error));
  if (publisher->can_fall_back(job.source, job.promise.ticket())) {
    log_error(
        fmt::format("{}; trying the fallback directory after {} attempts", what, num_attempts));
    try {
      return publisher->write_to_fallback(job.source, job.promise);
    } catch (...) {
      log_error(fmt::format("saving {} into the fallback directory failed, too: {}",
                            job.promise.ticket().prefix(), describe(std::current_exception())));
    }
  }
  log_error(fmt::format("{}; abandoned after {} attempts, training continues", what, num_attempts));
  fail(job, error);
}

void BackgroundSaver::Queue::fail(Job& job, const std::exception_ptr& error) {
  if (const std::string& part = job.source.part_prefix(); !part.empty())
    publisher->report_failed_part(part, error);
  job.promise.fail(error);
}

bool BackgroundSaver::Queue::pause_for(Clock::Duration duration) {
  const auto gives_way = [this] { return next || newer_is_due; };
  std::stop_source wake;
  {
    const std::lock_guard lock(mutex);
    if (gives_way()) return false;
    if (in_hurry) return true;
    pause = wake;
  }
  sleep_unless_signalled(publisher->clock(), duration, wake.get_token());
  const std::lock_guard lock(mutex);
  pause.reset();
  return !gives_way();
}

BackgroundSaver::BackgroundSaver(Saver& saver, const BackgroundSaverOptions& options)
    : options_(options),
      state_("a background saver",
             State{std::make_shared<Queue>(*saver.publisher_, options.max_retries)}) {
  internal::check_at_least("max_retries", options_.max_retries, 0);
  internal::check_above("progress_log_secs", options_.progress_log_secs, 0);
}

BackgroundSaver::~BackgroundSaver() {
  if (state_.is_here()) state_->queue->end();
}

bool BackgroundSaver::start() {
  if (state_->thread.joinable()) return true;
  try {
    state_->thread = Thread(
        "saving", [queue = state_->queue] { queue->work(Queue::WhenIdle::kWait); },
        Thread::Priority::kBackground);
    return true;
  } catch (const ResourceExhaustedError& error) {
    if (!std::exchange(is_logged_, true))
      log_warning(fmt::format("{}; training waits while checkpoints are written", error.what()));
    return false;
  }
}

SaveTicket BackgroundSaver::enqueue(SaveSource source, const std::string& save_path, int64_t step) {
  return enqueue_as(std::move(source), state_->queue->publisher->prefix_of(save_path, step), step);
}

SaveTicket BackgroundSaver::enqueue_as(SaveSource source, const std::string& prefix, int64_t step) {
  const bool waits = options_.overlap != SaveOverlapPolicy::kNewestWins;
  Queue& queue = *state_->queue;
  Publisher& publisher = *queue.publisher;
  SavePromise promise(prefix, step, publisher.clock());
  const SaveTicket& ticket = promise.ticket();
  const bool has_thread = start();
  if (waits) queue.wait_for_place();
  Job job{std::move(source), promise, publisher.announce_write(ticket.prefix())};
  std::optional<Job> former;  // The next one until now, which has not begun.
  queue.change_and_wake([&] {
    former = std::exchange(queue.next, std::move(job));
    if (former) ++queue.num_superseded;
  });
  if (former) {
    log_warning(fmt::format("{} is skipped for {}: saves take longer than their interval",
                            former->promise.ticket().prefix(), ticket.prefix()));
    queue.fail(*former, std::make_exception_ptr(
                            CancelledError(fmt::format("skipped for {}", ticket.prefix()))));
    former.reset();  // Frees its memory.
  }
  if (!has_thread) queue.work(Queue::WhenIdle::kReturn);
  // Returning before the running save ends would allow one more snapshot to be held.
  if (waits) queue.wait_for_former();
  return ticket;
}

void BackgroundSaver::write_now(const SaveSource& source, const std::string& save_path,
                                int64_t step) {
  Queue& queue = *state_->queue;
  Publisher& publisher = *queue.publisher;
  SavePromise promise(publisher.prefix_of(save_path, step), step, publisher.clock());
  const SaveTicket& ticket = promise.ticket();
  const Clock::TimePoint start = publisher.clock().now();
  std::exception_ptr error;
  try {
    publisher.write_somewhere(source, promise);
    queue.measure(ticket, start);
  } catch (...) {
    error = std::current_exception();
    promise.fail(error);
  }
  {
    const std::lock_guard lock(queue.mutex);
    queue.note_finished(ticket);
  }
  if (error) std::rethrow_exception(error);
}

bool BackgroundSaver::wait_for_turn() {
  Queue& queue = *state_->queue;
  if (!busy()) return true;
  queue.change_and_wake([&] { queue.newer_is_due = true; });
  std::unique_lock lock(queue.mutex);
  bool idle = false;
  while (pending_signal() == 0 && !idle)
    idle = queue.changed.wait_for(lock, kSignalSlice, [&] { return queue.is_idle(); });
  queue.newer_is_due = false;
  return idle;
}

bool BackgroundSaver::busy() {
  const std::lock_guard lock(state_->queue->mutex);
  return !state_->queue->is_idle();
}

int64_t BackgroundSaver::num_superseded() {
  const std::lock_guard lock(state_->queue->mutex);
  return state_->queue->num_superseded;
}

std::vector<SaveTicket> BackgroundSaver::take_finished() {
  if (!state_.is_here()) return {};
  Queue& queue = *state_->queue;
  if (!queue.any_finished) return {};
  const std::lock_guard lock(queue.mutex);
  queue.any_finished = false;
  return std::exchange(queue.finished, {});
}

void BackgroundSaver::wait() {
  Queue& queue = *state_->queue;
  const std::chrono::duration<double> interval(options_.progress_log_secs);
  const Clock& clock = queue.publisher->clock();
  const Clock::TimePoint start = clock.now();
  std::unique_lock lock(queue.mutex);
  while (!queue.changed.wait_for(lock, interval, [&] { return queue.is_idle(); })) {
    lock.unlock();  // The log calls user code.
    log_progress(clock.now() - start);
    lock.lock();
  }
}

bool BackgroundSaver::wait_until(Clock::TimePoint deadline) {
  Queue& queue = *state_->queue;
  Clock& clock = queue.publisher->clock();
  const Clock::TimePoint start = clock.now();
  const Clock::Duration interval = from_seconds(options_.progress_log_secs);
  while (true) {
    std::stop_source idle;
    bool saved = false;
    {
      const std::lock_guard lock(queue.mutex);
      if (queue.is_idle()) return true;
      saved = queue.is_saved();
      queue.idle = idle;
    }
    const Clock::TimePoint now = clock.now();
    if (now >= deadline) return saved;
    if (now > start) log_progress(now - start);
    clock.sleep_for(std::min(interval, deadline - now), idle.get_token());
  }
}

void BackgroundSaver::close(Clock::TimePoint deadline, std::shared_ptr<void> held) {
  Queue& queue = *state_->queue;
  queue.change_and_wake([&] { queue.in_hurry = true; });
  if (wait_until(deadline) && !busy()) return;
  const std::string unsaved = unfinished();
  const std::string last = last_published();
  detach_worker(std::move(held));
  if (unsaved.empty()) return;
  throw DeadlineExceededError(fmt::format(
      "the deadline has passed and not saved yet: {}; the last checkpoint that is published: {}; "
      "writing continues as long as the process runs",
      unsaved, last));
}

// First makes the copies that snapshots wait for, so that the thread no longer needs the session.
void BackgroundSaver::detach_worker(std::shared_ptr<void> held) {
  Queue& queue = *state_->queue;
  std::vector<SaveSource> sources;
  {
    const std::lock_guard lock(queue.mutex);
    queue.held = std::move(held);
    if (queue.running) sources.push_back(queue.running->source);
    if (queue.next) sources.push_back(queue.next->source);
  }
  for (const SaveSource& source : sources) {
    try {
      static_cast<void>(source.snapshot().tensors());
    } catch (...) {  // The thread gets the same error, and reports it.
    }
  }
  queue.end();
  state_->thread.detach();
  // Later saves use a new queue.
  state_->queue = std::make_shared<Queue>(queue.publisher, options_.max_retries);
}

double BackgroundSaver::expected_secs(uint64_t num_bytes) {
  const std::lock_guard lock(state_->queue->mutex);
  return state_->queue->estimate.seconds_for(num_bytes);
}

std::string BackgroundSaver::last_published() {
  Queue& queue = *state_->queue;
  const std::lock_guard lock(queue.mutex);
  std::string last = queue.last_published;
  if (queue.running && !queue.running->promise.ticket().location().empty())
    last = queue.running->promise.ticket().location();
  return last.empty() ? "none of this run" : last;
}

std::string BackgroundSaver::unfinished() {
  Queue& queue = *state_->queue;
  std::vector<std::string> names;
  const auto add = [&](const SaveTicket& ticket) {
    names.push_back(fmt::format("{} (step {}: {})", ticket.prefix(), ticket.step(),
                                save_stage_name(ticket.stage())));
  };
  const std::lock_guard lock(queue.mutex);
  // A published save is complete, even if its memory is not freed yet.
  if (queue.running && queue.running->promise.ticket().stage() < SaveStage::kPublished)
    add(queue.running->promise.ticket());
  if (queue.next) add(queue.next->promise.ticket());
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace crochet::inline v0
