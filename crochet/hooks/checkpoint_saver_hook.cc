// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/checkpoint_saver_hook.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/directory/checkpoint_directory.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/directory/leftovers.h"
#include "crochet/checkpoint/file/index_file.h"
#include "crochet/checkpoint/saver/background_saver.h"
#include "crochet/checkpoint/saver/registered_saver.h"
#include "crochet/checkpoint/saver/save_source.h"
#include "crochet/hooks/from_tensor.h"
#include "crochet/hooks/global_step.h"
#include "crochet/hooks/internal/periodic_hook.h"
#include "crochet/io/path.h"
#include "crochet/session/rank_state.h"

namespace crochet::inline v0 {
namespace {

// TensorBoard sorts its groups by name, so that this one comes after those of the user.
constexpr const char* kLastInTensorBoard = "~";
// How many of the first figures of a save are curves in TensorBoard, too.
constexpr size_t kNumCurves = 2;

}  // namespace

CheckpointSaverHook::CheckpointSaverHook(CheckpointSaverHookOptions options)
    : CheckpointSaverHook(std::move(options), Writing::kWaits) {}

CheckpointSaverHook::CheckpointSaverHook(CheckpointSaverHook&&) noexcept = default;
CheckpointSaverHook::~CheckpointSaverHook() = default;

CheckpointSaverHook::CheckpointSaverHook(CheckpointSaverHookOptions options, Writing writing)
    : options_(std::move(options)),
      writing_(writing),
      timer_({.every_steps = options_.save_steps,
              .every_secs = options_.save_secs,
              .clock = options_.clock,
              .owner = "CheckpointSaverHook",
              .steps_option = "save_steps",
              .secs_option = "save_secs"}) {
  if (options_.saver && options_.scaffold)
    throw InvalidArgumentError(
        "a checkpoint hook was given a saver and a scaffold: at most one of "
        "them may be given");
  if (options_.checkpoint_dir.empty())
    throw InvalidArgumentError("a checkpoint hook was given no checkpoint_dir");
  internal::check_options(options_.saving, "CheckpointSaverHook: saving");
  if (std::ranges::find(options_.listeners, nullptr) != options_.listeners.end())
    throw InvalidArgumentError("a checkpoint hook was given a listener that is a null pointer");
}

std::shared_ptr<Saver> CheckpointSaverHook::find_saver() const {
  if (options_.saver) return options_.saver;
  if (options_.scaffold && options_.scaffold->saver) return options_.scaffold->saver;
  return graph_ ? registered_saver(*graph_) : nullptr;
}

Saver& CheckpointSaverHook::saver() {
  if (options_.scaffold && options_.scaffold->saver) return *options_.scaffold->saver;
  if (!saver_) saver_ = find_saver();
  if (!saver_) saver_ = std::make_shared<Saver>(SaverOptions{.allow_empty = true});
  return *saver_;
}

BackgroundSaver& CheckpointSaverHook::background() {
  if (!background_)
    background_ = std::make_shared<BackgroundSaver>(
        saver(), BackgroundSaverOptions{.overlap = options_.saving.overlap});
  return *background_;
}

std::string CheckpointSaverHook::save_path() const {
  return join_path(options_.checkpoint_dir, options_.checkpoint_basename.str());
}

void CheckpointSaverHook::begin(Graph& graph) {
  require_global_step(graph, *this);
  graph_ = &graph;
  last_save_ = LastSave::kNotBegun;
  ranks_ = internal::RankState::find(graph);
  if (ranks_ && !ranks_->is_shared()) ranks_.reset();
  saver_.reset();
  // A saver that is created only with the session uses the operating system's files.
  const std::shared_ptr<Saver> known = find_saver();
  FileSystem& files = known ? known->files() : FileSystem::posix();
  options_.checkpoint_dir = files.fixed_path(options_.checkpoint_dir, start_);
  std::shared_ptr<void> locks = lock_directories(files, known ? known->fallback_dir() : "",
                                                 known ? known->options() : SaverOptions());
  find_metric(graph);
  for (const auto& listener : options_.listeners) listener->begin();
  writer_ = SummaryWriter::for_directory(options_.checkpoint_dir, files,
                                         options_.clock ? *options_.clock : Clock::real());
  locks_ = std::move(locks);  // Last: a hook that cannot begin holds nothing.
}

std::shared_ptr<void> CheckpointSaverHook::lock_directories(FileSystem& files,
                                                            const std::string& second,
                                                            const SaverOptions& saver) const {
  if (second == options_.checkpoint_dir)
    throw InvalidArgumentError(
        fmt::format("\"{}\" is the checkpoint_dir and the fallback_dir", second));
  auto locks = std::make_shared<std::vector<DirectoryLock>>();
  const auto kind =
      options_.saving.lock_directory ? DirectoryLock::Kind::kFile : DirectoryLock::Kind::kNone;
  const auto lock = [&](const std::string& directory) {
    locks->emplace_back(files, directory, kind);
    if (saver.write_state) check_replaceable_state(files, directory, saver.latest_filename);
    remove_leftovers(files, directory, options_.checkpoint_basename, saver.latest_filename);
  };
  lock(options_.checkpoint_dir);
  if (second.empty()) return locks;
  try {
    lock(second);
  } catch (const FailedPreconditionError&) {
    throw;
  } catch (const Error& error) {  // Not fatal: it may never be needed.
    log_warning(
        fmt::format("the fallback directory for checkpoints cannot be used now: {}", error.what()));
  }
  return locks;
}

void CheckpointSaverHook::after_create_session(Session& session, Coordinator& coordinator) {
  if (background_) background_->wait();  // For the saves of an earlier session.
  const int64_t step = read_global_step(session);
  for (const MetricSource& source : options_.saving.metrics)
    if (source.resume_at) source.resume_at(step);
  saver().check_complete(session);
  last_saved_step_.reset();
  step_rejected_ = false;
  last_metric_ = Tensor();
  timer_.update_last_triggered_step(step);
  stale_step_.reset();
  next_step_ = step + options_.steps_per_run.value_or(1);
  if (checkpoint_exists(saver().files(), saver().prefix_of(save_path(), step)))
    last_saved_step_ = step;
  else if (save(session, step, options_.saving.overlap))
    coordinator.request_stop({name(), "a checkpoint listener requested a stop"});
}

std::optional<SessionRunArgs> CheckpointSaverHook::before_run(SessionRunContext& context) {
  if (deliver_finished(context.session()))
    context.request_stop("a checkpoint listener requested a stop");
  throw_error_if_to_stop();
  metric_requested_ =
      !metric_.empty() && (options_.save_secs || timer_.should_trigger_for_step(next_step_));
  context.request_global_step();
  if (!metric_requested_) return {};
  return SessionRunArgs{.fetches = metric_};
}

void CheckpointSaverHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  step_rejected_ = context.step_rejected();
  last_metric_ = Tensor();
  const std::optional<std::string>& request = context.save_request();
  if (step_rejected_) {
    if (request)
      log_warning(fmt::format("not saved as requested ({}): a hook rejected the step", *request));
    return;
  }
  const int64_t stale_step = context.global_step();
  if (metric_requested_) last_metric_ = values.results.tensor();
  next_step_ = stale_step + 2 * steps_of_a_run(stale_step);
  stale_step_ = stale_step;
  if (ranks_ && !ranks_->is_agreed()) return;  // Saved once all ranks are after the same step.
  if (!request && !may_be_due(stale_step)) return;
  const int64_t step = read_global_step(context.session());
  const bool is_due = timer_.should_trigger_for_step(step);
  // An interval of steps keeps its rhythm; one of seconds starts again.
  if (is_due || (request && options_.save_secs)) timer_.update_last_triggered_step(step);
  if (!is_due && (!request || last_saved_step_ == step)) return;
  if (request) log_info(fmt::format("saving step {} as requested: {}", step, *request));
  if (metric_requested_)
    note_metric(step, last_metric_);
  else
    compute_metric(context.session(), step);
  note_metrics(step);
  // One that was asked for is not skipped.
  if (save(context.session(), step, request ? SaveOverlapPolicy::kWait : options_.saving.overlap))
    context.request_stop("a checkpoint listener requested a stop");
}

SaveableMap CheckpointSaverHook::saveables() {
  SaveableMap state;
  for (const MetricSource& source : options_.saving.metrics)
    if (source.state) state[source.name] = source.state;
  return state;
}

// Any number of steps may have been made: by the run, by a hook, by other processes.
bool CheckpointSaverHook::may_be_due(int64_t stale_step) const {
  constexpr int64_t kMany = 1'000'000;
  return timer_.should_trigger_for_step(stale_step + options_.steps_per_run.value_or(kMany));
}

int64_t CheckpointSaverHook::steps_of_a_run(int64_t stale_step) const {
  if (options_.steps_per_run) return *options_.steps_per_run;
  return stale_step_ ? stale_step - *stale_step_ : 1;
}

void CheckpointSaverHook::before_end(Session& session) {
  last_save_ = LastSave::kBegun;
  if (options_.saving.deadline_secs)
    finish_running(session);
  else if (background_ && options_.saving.overlap == SaveOverlapPolicy::kSkip)
    background_->wait();
  try {
    const int64_t step = read_global_step(session);
    if (step_rejected_)
      log_warning(
          fmt::format("step {} is not saved: a hook rejected it; {}", step, saver().newest_text()));
    else if (last_saved_step_ != step)
      save_last(session, step);
  } catch (...) {
    release();
    throw;
  }
  last_save_ = LastSave::kMade;
}

void CheckpointSaverHook::end(Session& session) {
  if (last_save_ == LastSave::kNotBegun) before_end(session);  // Called by a program of its own.
  if (last_save_ == LastSave::kBegun) return;                  // Its error was thrown then.
  try {
    const int64_t step = read_global_step(session);
    finish(session);
    if (metric_is_late_ && (!deadline_ || secs_left() > 0)) compute_metric(session, step);
    note_metrics(step);
    saver().write_noted_metrics();
    for (const auto& listener : options_.listeners) listener->end(session, step);
  } catch (...) {
    release();
    throw;
  }
  release();
}

void CheckpointSaverHook::save_last(Session& session, int64_t step) {
  // After a signal, the time is for the checkpoint first.
  metric_is_late_ = !last_metric_.is_set() && pending_signal() != 0;
  if (last_metric_.is_set())
    note_metric(step, last_metric_);
  else if (!metric_is_late_)
    compute_metric(session, step);
  note_metrics(step);
  save(session, step, options_.saving.overlap);
}

void CheckpointSaverHook::compute_metric(Session& session, int64_t step) {
  if (metric_.empty()) return;
  try {
    note_metric(step, session.run(metric_).tensor());
  } catch (const std::exception& error) {  // A metric is worth less than the checkpoint.
    log_warning(fmt::format("the checkpoint of step {} has no value of {}: {}", step, metric_name_,
                            error.what()));
  }
}

void CheckpointSaverHook::find_metric(const Graph& graph) {
  metric_ = Fetches();
  const std::shared_ptr<Saver> known = find_saver();
  if (!known || !known->options().keep_best) return;
  metric_name_ = known->options().keep_best->metric;
  const auto is_it = [&](const MetricSource& source) { return source.name == metric_name_; };
  if (std::ranges::any_of(options_.saving.metrics, is_it)) return;
  try {
    metric_ = resolve_values(graph, metric_name_, *this);
  } catch (const NotFoundError&) {
    log_warning(
        fmt::format("keep_best: no metric \"{}\": neither a value of the run has this name nor one "
                    "of the metrics recorded with checkpoints, so none is kept as the best by it",
                    metric_name_));
  }
}

void CheckpointSaverHook::note_metric(int64_t step, const Tensor& value) {
  if (value.is_set())
    saver().note_metrics(saver().prefix_of(save_path(), step),
                         {{metric_name_, internal::number_of("keep_best: ", metric_name_, value)}});
}

void CheckpointSaverHook::note_metrics(int64_t step) {
  for (const MetricSource& source : options_.saving.metrics) {
    const std::optional<MetricPoint> point = source.newest();
    // A point of a later step was found before a recovery, for a step that is lost.
    if (!point || point->step > step) continue;
    if (const auto noted = noted_.find(source.name);
        noted != noted_.end() && noted->second == point->step)
      continue;
    noted_[source.name] = point->step;
    saver().note_metrics(saver().prefix_of(save_path(), point->step),
                         {{source.name, point->value}});
  }
}

void CheckpointSaverHook::on_error(std::exception_ptr) {
  const bool has_begun = locks_ != nullptr;
  release();
  if (has_begun) log_info(saver().newest_text());
}

std::string CheckpointSaverHook::activity() const {
  if (!background_ || !last_saved_step_ || !background_->busy()) return {};
  return fmt::format("saving step {}", *last_saved_step_);
}

void CheckpointSaverHook::release() {
  if (background_) {
    try {
      if (options_.saving.deadline_secs)
        background_->close(deadline(), locks_);
      else
        background_->wait();
    } catch (const Error& error) {  // Time is up, or the child of a fork unwinds its parent's run.
      log_error(error.what());
    }
    for (const SaveTicket& ticket : background_->take_finished()) note_ended(ticket);
    background_.reset();
  }
  if (locks_) log_debug(fmt::format("{}: {}", options_.checkpoint_dir, to_string(statistics_)));
  writer_.reset();
  locks_.reset();
}

Clock::TimePoint CheckpointSaverHook::deadline() {
  if (!deadline_)
    deadline_ =
        saver().clock().now() + from_seconds(*options_.saving.deadline_secs) - pending_signal_age();
  return *deadline_;
}

bool CheckpointSaverHook::is_left_to_the_end(int64_t step) const {
  if (!options_.saving.deadline_secs || deadline_ || pending_signal() == 0) return false;
  log_info(fmt::format("the checkpoint of step {} is left to the end: received {}", step,
                       signal_name(pending_signal())));
  return true;
}

void CheckpointSaverHook::finish_running(Session& session) {
  const Clock::TimePoint deadline = this->deadline();
  if (!background_ || !background_->busy()) return;
  log_info(fmt::format("{:.1f} s left before the deadline: waiting for {}", secs_left(),
                       background_->unfinished()));
  try {
    background_->close(deadline, locks_);
  } catch (const DeadlineExceededError& error) {
    const int64_t step = read_global_step(session);
    const bool is_lost = last_saved_step_ != step && !step_rejected_;
    release();
    if (!is_lost) throw;
    throw DeadlineExceededError(
        fmt::format("the state of step {} is not saved; {}", step, error.what()));
  }
  deliver_finished(session);
}

bool CheckpointSaverHook::is_time_for(int64_t step, uint64_t num_bytes) {
  if (!deadline_) return true;
  const double expected = background().expected_secs(num_bytes);
  const double left = std::max(0.0, secs_left());
  if (left <= 0 || expected > left) {
    left_unsaved_ = fmt::format("expected to take {:.1f} s, {:.1f} s left", expected, left);
    return false;
  }
  log_info(fmt::format("saving step {}: expected to take {:.1f} s, {:.1f} s left", step, expected,
                       left));
  return true;
}

bool CheckpointSaverHook::save(Session& session, int64_t step, SaveOverlapPolicy overlap) {
  if (is_left_to_the_end(step)) return deliver_finished(session);
  if (deadline_ && secs_left() <= 0) {
    left_unsaved_ = "no time left";
    return false;
  }
  const Clock::TimePoint start = saver().clock().now();
  if (writing_ == Writing::kInBackground && !deadline_) {
    if (overlap == SaveOverlapPolicy::kSkip && background().busy()) {
      log_warning(fmt::format(
          "the checkpoint of step {} is skipped: another one is still being written", step));
      note_skipped(step);
      return deliver_finished(session);
    }
    // Waits before the snapshot is taken: another one beside that being written costs memory.
    if (overlap == SaveOverlapPolicy::kWait && !background().wait_for_turn() &&
        is_left_to_the_end(step))
      return deliver_finished(session);
  }
  for (const auto& listener : options_.listeners) listener->before_save(session, step);
  const int64_t superseded = background().num_superseded();
  SaveSource source = saver().snapshot_for(session, saver().prefix_of(save_path(), step));
  if (is_nothing(source) || !is_time_for(step, source.num_bytes()))
    return deliver_finished(session);
  // What end() of a hook changes must not get into copies that are still being made.
  if (last_save_ == LastSave::kBegun) source.snapshot().readable();
  last_saved_step_ = step;
  if (writing_ == Writing::kInBackground) {
    background().enqueue(std::move(source), save_path(), step);
  } else {
    try {
      background().write_now(source, save_path(), step);
    } catch (...) {
      note_blocked(step, saver().clock().now() - start);
      deliver_finished(session);
      throw;
    }
  }
  if (background().num_superseded() > superseded) note_skipped(step);
  note_blocked(step, saver().clock().now() - start);
  return deliver_finished(session);
}

bool CheckpointSaverHook::deliver_finished(Session& session) {
  if (!background_) return false;
  bool stop = false;
  for (const SaveTicket& ticket : background_->take_finished()) {
    note_ended(ticket);
    last_error_ = ticket.error();
    if (last_error_) {
      // Thrown even if a later save succeeds.
      // So is an error of the state, which every later save would meet.
      if (writing_ == Writing::kInBackground &&
          (options_.saving.on_error == SaveErrorPolicy::kStop ||
           ticket.fault() == SaveFault::kState))
        untold_error_ = last_error_;
      if (last_saved_step_ == ticket.step()) last_saved_step_.reset();
      continue;
    }
    log_debug(fmt::format("checkpoint {} took {:.3f} s", ticket.prefix(),
                          ticket.seconds(SaveStage::kPublished).value_or(0)));
    stop = call_after_save(session, ticket.step()) || stop;
  }
  return stop;
}

void CheckpointSaverHook::throw_error_if_to_stop() {
  if (!untold_error_) return;
  last_error_ = nullptr;
  std::rethrow_exception(std::exchange(untold_error_, nullptr));
}

void CheckpointSaverHook::finish(Session& session) {
  if (!left_unsaved_.empty()) {
    deliver_finished(session);
    throw DeadlineExceededError(fmt::format(
        "the state of step {} is not saved: {}; the last checkpoint that is published: {}",
        read_global_step(session), left_unsaved_, background().last_published()));
  }
  if (deadline_)
    background().close(deadline(), locks_);
  else
    background().wait();
  deliver_finished(session);
  if (last_error_) std::rethrow_exception(last_error_);
  throw_error_if_to_stop();
}

bool CheckpointSaverHook::is_nothing(const SaveSource& source) {
  if (!source.empty()) return false;
  if (!std::exchange(nothing_logged_, true))
    log_warning(fmt::format(
        "{}: nothing is saved: the saver finds neither variables nor objects in the graph",
        options_.checkpoint_dir));
  return true;
}

void CheckpointSaverHook::note_blocked(int64_t step, Clock::Duration duration) {
  blocked_secs_[step] += to_seconds(duration);
  statistics_.blocked_secs += to_seconds(duration);
}

void CheckpointSaverHook::note_skipped(int64_t step) {
  ++statistics_.skipped;
  write_curves(step, {});
}

void CheckpointSaverHook::note_ended(const SaveTicket& ticket) {
  statistics_.add(ticket);
  const double blocked_secs = blocked_secs_[ticket.step()];
  blocked_secs_.erase(blocked_secs_.begin(), blocked_secs_.upper_bound(ticket.step()));
  if (ticket.error()) return write_curves(ticket.step(), {});
  const auto seconds = [&](SaveStage stage) { return ticket.seconds(stage).value_or(0); };
  write_curves(ticket.step(),
               {{"checkpoint/seconds", seconds(SaveStage::kPublished)},
                {"checkpoint/blocked_seconds", blocked_secs},
                {"checkpoint/written_seconds", seconds(SaveStage::kWritten)},
                {"checkpoint/durable_seconds", seconds(SaveStage::kDurable)},
                {"checkpoint/bytes", static_cast<double>(ticket.num_bytes())},
                {"checkpoint/shared_bytes", static_cast<double>(ticket.shared_bytes())}});
}

void CheckpointSaverHook::write_curves(int64_t step, std::vector<Scalar> figures) {
  const auto& writer = options_.summary_writer ? options_.summary_writer : writer_;
  if (!writer) return;
  std::vector<Scalar> curves;
  for (const Scalar& figure :
       std::span(figures).first(std::min<size_t>(figures.size(), kNumCurves)))
    curves.push_back({kLastInTensorBoard + figure.tag, figure.value});
  const auto add = [&](const char* tag, int64_t count) {
    figures.push_back({tag, static_cast<double>(count)});
  };
  add("checkpoint/saved", statistics_.saved);
  add("checkpoint/failed", statistics_.failed);
  add("checkpoint/skipped", statistics_.skipped);
  add("checkpoint/retries", statistics_.retries);
  writer->add_scalars(step, curves, figures);
}

bool CheckpointSaverHook::call_after_save(Session& session, int64_t step) {
  if (writer_) writer_->add_session_log(SessionLog::kCheckpoint, step, save_path());
  bool stop = false;
  for (const auto& listener : options_.listeners) {
    if (!listener->after_save(session, step)) continue;
    log_info(fmt::format("a checkpoint listener requested a stop after saving step {}", step));
    stop = true;
  }
  return stop;
}

}  // namespace crochet::inline v0
