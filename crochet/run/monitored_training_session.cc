// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/monitored_training_session.h"

#include <fmt/format.h>

#include "crochet/base/check_number.h"
#include "crochet/base/error.h"
#include "crochet/base/internal/dynamic_type.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/saver/registered_saver.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/run/default_hooks.h"
#include "crochet/run/resized_values.h"
#include "crochet/run/restoring.h"
#include "crochet/run/training_run.h"

namespace crochet::inline v0 {
namespace {

std::shared_ptr<Scaffold> scaffold_of(const MonitoredTrainingSessionOptions& options) {
  auto scaffold = options.scaffold ? options.scaffold : std::make_shared<Scaffold>();
  if (!scaffold->saver) scaffold->saver = registered_saver(options.graph);
  if (!scaffold->saver)
    scaffold->saver = std::make_shared<Saver>(
        SaverOptions{.format = options.checkpoint_format,
                     .unsaved_state = options.unsaved_state,
                     .max_to_keep = options.max_to_keep,
                     .keep_checkpoint_every_n_hours = options.keep_checkpoint_every_n_hours,
                     .keep_checkpoint_every_n_steps = options.keep_checkpoint_every_n_steps,
                     .keep_best = options.keep_best,
                     .record_command_line = options.record_command_line,
                     .allow_empty = true,
                     .files = options.files,
                     .clock = options.clock});
  // Set before the hooks begin: the newest checkpoint to restore may be there.
  scaffold->saver->set_fallback_dir(options.fallback_dir);
  return scaffold;
}

// Creates the first session of a run that continues from an early restore. Later sessions, those of
// recoveries, are created by `later`.
class ContinuedSessionCreator final : public SessionCreator {
 public:
  // Requires: `early` outlives this; the scaffold has a saver.
  ContinuedSessionCreator(const internal::EarlyRestore& early, std::shared_ptr<Scaffold> scaffold,
                          std::unique_ptr<SessionCreator> later)
      : early_(early), scaffold_(std::move(scaffold)), later_(std::move(later)) {}

  Graph& graph() const override { return later_->graph(); }

  // Throws: as Saver::restore does.
  std::unique_ptr<Session> create_session() override {
    std::unique_ptr<Session> session =
        num_sessions_ == 0 ? continued_session() : later_->create_session();
    ++num_sessions_;
    return session;
  }

  std::optional<RestoreReport> restore_report() const override {
    return num_sessions_ == 1 ? early_.report : later_->restore_report();
  }

 private:
  std::unique_ptr<Session> continued_session() {
    scaffold_->finalize(graph());
    std::unique_ptr<Session> session = graph().new_session("");
    SaverOptions rest{.filter = [this](std::string_view name) { return is_rest(name); },
                      .write_state = false,
                      .allow_empty = true,
                      .files = &scaffold_->saver->files(),
                      .clock = &scaffold_->saver->clock()};
    internal::set_restore_options(rest, early_.options);
    Saver(std::move(rest)).restore(*session, early_.report.prefix);
    scaffold_->saver->set_unused_aside();  // The hooks hold the lock now.
    log_info(fmt::format("the run continues from {}, which was restored before it",
                         early_.report.prefix));
    return session;
  }

  bool is_rest(std::string_view name) const {
    if (!early_.is_own && !early_.options.only.match(std::string(name))) return false;
    // A part of a value that was restored has a name beneath the value's.
    for (std::string_view owner = name;; owner = owner.substr(0, owner.rfind('/'))) {
      if (early_.names.contains(owner)) return false;
      if (owner.find('/') == std::string_view::npos) return true;
    }
  }

  const internal::EarlyRestore& early_;
  const std::shared_ptr<Scaffold> scaffold_;
  const std::unique_ptr<SessionCreator> later_;
  int num_sessions_ = 0;
};

std::unique_ptr<SessionCreator> make_creator(const MonitoredTrainingSessionOptions& options,
                                             const std::shared_ptr<Scaffold>& scaffold,
                                             const internal::EarlyRestore* early) {
  if (!options.is_chief)
    return std::make_unique<WorkerSessionCreator>(
        options.graph, WorkerSessionCreatorOptions{.scaffold = scaffold,
                                                   .master = options.master,
                                                   .config = options.config,
                                                   .max_wait_secs = options.max_wait_secs,
                                                   .recovery_wait_secs = options.recovery_wait_secs,
                                                   .clock = options.clock});
  auto chief = std::make_unique<ChiefSessionCreator>(
      options.graph,
      ChiefSessionCreatorOptions{.scaffold = scaffold,
                                 .master = options.master,
                                 .config = options.config,
                                 .checkpoint_dir = options.checkpoint_dir,
                                 .checkpoint_basename = options.checkpoint_basename});
  if (early == nullptr) return chief;
  return std::make_unique<ContinuedSessionCreator>(*early, scaffold, std::move(chief));
}

std::unique_ptr<MonitoredSession> make_session(const MonitoredTrainingSessionOptions& options,
                                               std::unique_ptr<SessionCreator> creator,
                                               const HookList& hooks) {
  return std::make_unique<MonitoredSession>(
      std::move(creator), hooks,
      MonitoredSessionOptions{.max_recoveries = options.max_recoveries,
                              .can_recover = options.can_recover,
                              .stop_grace_period_secs = options.stop_grace_period_secs,
                              .clock = options.clock});
}

void note_start(const MonitoredSession& session, const SessionCreator& creator, RunReport& report) {
  report.first_step = report.last_step = session.first_step().value_or(0);
  report.restore = creator.restore_report();
  if (report.restore) report.resumed_from = session.first_step();
}

// Of all savers, also those that the user has added.
SaveStatistics saving_of(const HookList& hooks) {
  SaveStatistics sum;
  for (const HookHandle& hook : hooks)
    if (const auto* const saver = internal::dynamic_as<const CheckpointSaverHook>(&*hook))
      sum.add(saver->statistics());
  return sum;
}

void note_end(MonitoredSession& session, RunReport& report) {
  report.stop =
      session.stop_request().value_or(StopRequest{"the program", "nothing was left to do"});
  report.last_step = session.current_step().value_or(report.first_step);
  report.recoveries = session.num_recoveries();
}

}  // namespace

void check_options(const MonitoredTrainingSessionOptions& options) {
  internal::check_at_least("max_recoveries", options.max_recoveries, 0);
  internal::check_at_least("stop_grace_period_secs", options.stop_grace_period_secs, 0);
  internal::check_at_least("max_wait_secs", options.max_wait_secs, 0);
  internal::check_above("recovery_wait_secs", options.recovery_wait_secs, 0);
  internal::wire_default_hooks(options, std::make_shared<Scaffold>());
}

RunReport train(const MonitoredTrainingSessionOptions& options,
                const std::function<void(MonitoredSession& session)>& body) {
  return internal::train(options, nullptr, body);
}

RunReport internal::train(const MonitoredTrainingSessionOptions& options, const EarlyRestore* early,
                          const std::function<void(MonitoredSession& session)>& body) {
  check_options(options);
  const std::shared_ptr<Scaffold> scaffold = scaffold_of(options);
  const HookList hooks = wire_default_hooks(options, scaffold);

  std::unique_ptr<SessionCreator> creator = make_creator(options, scaffold, early);
  const SessionCreator& session_creator = *creator;  // The session will own it.
  RunReport report;
  const ResizedValues resized(options.graph);
  std::unique_ptr<MonitoredSession> session;
  try {
    session = make_session(options, std::move(creator), hooks);
  } catch (const CancelledError& error) {
    if (pending_signal() == 0) throw;
    report.stop = {"SignalHook", error.what(), pending_signal()};
  }
  if (session) {
    note_start(*session, session_creator, report);
    if (report.restore) resized.log(report.restore->prefix);
    run_in_scope(*session, [&] { body(*session); });
    note_end(*session, report);
  }
  report.signal = pending_signal();
  report.saving = saving_of(hooks);
  report.saves = report.saving.saved;
  report.failed_saves = report.saving.failed;
  log_info("the run ended at " + to_string(report));
  return report;
}

}  // namespace crochet::inline v0
