// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/background_saver.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/base/internal/log_lazily.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/saver/internal/publisher.h"
#include "crochet/checkpoint/saver/internal/save_estimate.h"
#include "crochet/checkpoint/saver/internal/save_promise.h"
#include "crochet/checkpoint/saver/internal/save_source.h"

namespace crochet::inline v0::internal {
namespace {

constexpr std::chrono::seconds kFirstRetryAfter(1);

// The reason is logged only once if the same error occurs repeatedly.
std::string failure_text(const SaveTicket& ticket, const std::exception_ptr& error,
                         const std::exception_ptr& previous) {
  const std::string reason = describe(error);
  if (previous && describe(previous) == reason)
    return fmt::format("saving {} failed again, for the same reason", ticket.prefix());
  return fmt::format("saving {} failed: {}", ticket.prefix(), reason);
}

// The end of a save that failed.
std::string end_text(const SaveTicket& ticket, const SaveFailed& failed) {
  const std::string what =
      fmt::format("saving {} failed: {}", ticket.prefix(), describe(failed.error));
  switch (failed.fault) {
    case SaveFault::kState:
      return fmt::format("{}; retrying cannot help, and the run ends", what);
    case SaveFault::kPlace:
      return fmt::format("{}; abandoned after {} attempts, training continues", what,
                         ticket.num_attempts());
    default:
      return fmt::format("{}; retrying cannot help, training continues", what);
  }
}

void log_progress(Clock::Duration so_far) {
  log_info(
      fmt::format("waiting for a checkpoint to be written: {:.0f} s so far", to_seconds(so_far)));
}

void request_stop(const std::optional<std::stop_source>& source) {
  if (source) std::stop_source(*source).request_stop();
}

}  // namespace

// All that its end needs is allocated when it is made: on the thread that saves, memory may be
// short.
struct BackgroundSaver::Job {
  Job(SaveSource its_source, SavePromise its_promise, std::shared_ptr<void> its_announcement)
      : announcement(std::move(its_announcement)),
        source(std::move(its_source)),
        promise(std::move(its_promise)),
        done{promise.ticket()} {}

  // Announces the job to the publisher until it has ended. First: it is destroyed last.
  std::shared_ptr<void> announcement;
  SaveSource source;
  SavePromise promise;
  std::list<SaveTicket> done;  // Its node is moved to the list of the saves that ended.
  std::stop_source wake;       // Ends the pauses before retries.
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

  class Retries;

  // These require that the mutex is held.
  bool is_idle() const { return !next && !busy; }
  // Nothing is left to be saved, though memory may still be freed.
  bool is_saved() const { return !next && !running; }
  void record_finished(std::list<SaveTicket>& done) noexcept;

  // Tries until the job is published or has failed. Cannot fail, however short memory is.
  void save(const std::shared_ptr<Job>& job) noexcept;
  // True if no attempt follows this one: all retries are used, or something waits for the end of
  // this save. A newer save allows it one retry.
  bool is_last(int attempt);
  // Requires that the mutex is held.
  bool is_newer_due() const { return next || newer_is_due; }
  // The job is durable: training may change what its snapshot reads in place. Its memory is freed
  // later, as that takes long.
  void end_copies(Job& job);
  // Records how long a save took that started then.
  void measure(const SaveTicket& ticket, Clock::TimePoint start);
  void fail(Job& job, const std::exception_ptr& error, SaveFault fault) noexcept;
  // Ends early if something waits for the end of this save.
  void pause_for(Job& job, Clock::Duration duration);

  const std::shared_ptr<Publisher> publisher;
  const int max_retries;

  std::mutex mutex;  // Guards what follows.
  std::condition_variable changed;
  std::shared_ptr<Job> next;
  std::shared_ptr<Job> running;  // Set until it is saved or has failed.
  bool busy = false;             // Also set until its memory is freed.
  bool newer_is_due = false;     // A caller waits in wait_for_turn().
  bool in_hurry = false;
  bool ending = false;
  std::optional<std::stop_source> pause;  // Ends the pause before a retry.
  std::optional<std::stop_source> idle;   // Ends a wait with a deadline.
  int64_t num_superseded = 0;
  std::optional<SaveTicket> last_published;
  SaveEstimate estimate;
  std::list<SaveTicket> finished;
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
      job = running = std::exchange(next, nullptr);
      busy = true;
    }
    changed.notify_all();
    save(job);
    {
      const std::lock_guard lock(mutex);
      running.reset();
      record_finished(job->done);
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

// Retries after pauses, each twice as long as the one before.
class BackgroundSaver::Queue::Retries final : public SaveAttempts {
 public:
  Retries(Queue& queue, Job& job) : queue_(queue), job_(job) {}

  SpaceCheck space_check() override {
    is_last_ = queue_.is_last(++number_);
    return is_last_ ? SpaceCheck::kIgnore : SpaceCheck::kRefuse;
  }

  bool repeats_after(const std::exception_ptr& error) override {
    if (is_last_) return false;
    const SaveTicket& ticket = job_.promise.ticket();
    log_lazily(Severity::kWarning, [&] {
      return fmt::format("{}; next attempt in {:g} s; {}", failure_text(ticket, error, previous_),
                         to_seconds(pause_), queue_.publisher->newest_text());
    });
    previous_ = error;
    queue_.pause_for(job_, std::exchange(pause_, pause_ * 2));
    return true;
  }

 private:
  Queue& queue_;
  Job& job_;
  int number_ = 0;
  bool is_last_ = false;
  Clock::Duration pause_ = kFirstRetryAfter;
  std::exception_ptr previous_;
};

void BackgroundSaver::Queue::save(const std::shared_ptr<Job>& job) noexcept {
  const SaveTicket& ticket = job->promise.ticket();
  const Clock::TimePoint start = publisher->clock().now();
  Retries retries(*this, *job);
  try {
    publisher->save(job->source, job->promise, retries, [&] { end_copies(*job); });
    measure(ticket, start);
  } catch (const SaveFailed& failed) {
    log_lazily(Severity::kError,
               [&] { return end_text(ticket, failed) + "; " + publisher->newest_text(); });
    fail(*job, failed.error, failed.fault);
  } catch (...) {  // Between attempts, memory was short.
    const std::exception_ptr error = std::current_exception();
    log_lazily(Severity::kError, [&] { return end_text(ticket, {error, SaveFault::kThisSave}); });
    fail(*job, error, SaveFault::kThisSave);
  }
}

void BackgroundSaver::Queue::end_copies(Job& job) {
  std::vector<std::shared_ptr<PendingCopies>> copies;  // Ends without the mutex.
  const std::lock_guard lock(mutex);
  copies = job.source.take_copies();
}

void BackgroundSaver::Queue::record_finished(std::list<SaveTicket>& done) noexcept {
  if (done.front().stage() == SaveStage::kPublished) last_published = done.front();
  finished.splice(finished.end(), done);
  any_finished = true;
}

void BackgroundSaver::Queue::measure(const SaveTicket& ticket, Clock::TimePoint start) {
  const Clock::Duration duration = publisher->clock().now() - start;
  const std::lock_guard lock(mutex);
  if (ticket.num_bytes() > 0) estimate.measured(ticket.num_bytes(), to_seconds(duration));
}

bool BackgroundSaver::Queue::is_last(int attempt) {
  const std::lock_guard lock(mutex);
  return attempt > max_retries || in_hurry || pending_signal() != 0 ||
         (attempt > 1 && is_newer_due());
}

void BackgroundSaver::Queue::fail(Job& job, const std::exception_ptr& error,
                                  SaveFault fault) noexcept {
  if (const std::string& part = job.source.part_prefix(); !part.empty())
    publisher->report_failed_part(part, error);
  job.promise.fail(error, fault);
}

void BackgroundSaver::Queue::pause_for(Job& job, Clock::Duration duration) {
  {
    const std::lock_guard lock(mutex);
    if (in_hurry || is_newer_due()) return;
    pause = job.wake;
  }
  sleep_unless_signalled(publisher->clock(), duration, job.wake.get_token());
  const std::lock_guard lock(mutex);
  pause.reset();
}

BackgroundSaver::BackgroundSaver(Saver& saver, const BackgroundSaverOptions& options)
    : options_(options),
      state_("a background saver",
             State{std::make_shared<Queue>(*saver.publisher_, options.max_retries)}) {
  check_at_least("max_retries", options_.max_retries, 0);
  check_above("progress_log_secs", options_.progress_log_secs, 0);
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
  auto job =
      std::make_shared<Job>(std::move(source), promise, publisher.announce_write(ticket.prefix()));
  std::shared_ptr<Job> former;  // The next one until now, which has not begun.
  queue.change_and_wake([&] {
    former = std::exchange(queue.next, std::move(job));
    if (former) ++queue.num_superseded;
  });
  if (former) {
    log_warning(fmt::format("{} is skipped for {}: saves take longer than their interval",
                            former->promise.ticket().prefix(), ticket.prefix()));
    queue.fail(
        *former,
        std::make_exception_ptr(CancelledError(fmt::format("skipped for {}", ticket.prefix()))),
        SaveFault::kThisSave);
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
  std::list<SaveTicket> done = {ticket};
  std::exception_ptr error;
  try {
    SaveAttempts once;
    publisher.save(source, promise, once);
    queue.measure(ticket, start);
  } catch (const SaveFailed& failed) {
    error = failed.error;
    promise.fail(error, failed.fault);
  }
  {
    const std::lock_guard lock(queue.mutex);
    queue.record_finished(done);
  }
  if (error) std::rethrow_exception(error);
}

bool BackgroundSaver::wait_for_turn(const std::function<void()>& while_waiting) {
  Queue& queue = *state_->queue;
  if (!busy()) return true;
  struct NewerIsDue {
    explicit NewerIsDue(Queue& due) : queue(due) {
      queue.change_and_wake([this] { queue.newer_is_due = true; });
    }
    ~NewerIsDue() {
      const std::lock_guard lock(queue.mutex);
      queue.newer_is_due = false;
    }
    Queue& queue;
  } const newer_is_due(queue);
  bool idle = false;
  while (pending_signal() == 0 && !idle) {
    if (while_waiting) while_waiting();
    std::unique_lock lock(queue.mutex);
    idle = queue.changed.wait_for(lock, kSignalSlice, [&] { return queue.is_idle(); });
  }
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

bool BackgroundSaver::has_finished() const {
  return state_.is_here() && state_->queue->any_finished;
}

std::vector<SaveTicket> BackgroundSaver::take_finished() {
  if (!has_finished()) return {};
  Queue& queue = *state_->queue;
  const std::lock_guard lock(queue.mutex);
  queue.any_finished = false;
  std::vector<SaveTicket> tickets(queue.finished.begin(), queue.finished.end());
  queue.finished.clear();
  return tickets;
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
  const DeadlineExceededError error =
      late_error(fmt::format("the deadline has passed and not saved yet: {}; writing continues as "
                             "long as the process runs",
                             unsaved));
  detach_worker(std::move(held));
  if (!unsaved.empty()) throw error;
}

DeadlineExceededError BackgroundSaver::late_error(const std::string& what) {
  return DeadlineExceededError(
      fmt::format("{}; the last checkpoint that is published: {}", what, last_published()));
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
  std::string last = queue.last_published ? queue.last_published->location() : "";
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

}  // namespace crochet::inline v0::internal
