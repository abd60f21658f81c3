// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/internal/training_run.h"

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/dynamic_type.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/loop/internal/default_hooks.h"
#include "crochet/loop/internal/restoring.h"
#include "crochet/loop/internal/run_journal.h"
#include "crochet/outputs/internal/outputs_hook.h"
#include "crochet/ranks/internal/rank_shards.h"
#include "crochet/session/internal/rank_layout.h"
#include "crochet/training/internal/time_ledger.h"

namespace crochet::inline v0 {
namespace {

using internal::TrainingRun;

std::shared_ptr<Scaffold> scaffold_of(const TrainingRun& run) {
  auto scaffold = run.scaffold ? run.scaffold : std::make_shared<Scaffold>();
  if (!scaffold->saver) scaffold->saver = registered_saver(run.graph);
  if (scaffold->saver) return scaffold;
  SaverOptions saver = internal::saver_options(run.checkpoint, run.files, run.clock);
  saver.allow_empty = true;
  scaffold->saver = std::make_shared<Saver>(std::move(saver));
  return scaffold;
}

// Creates the sessions of a run, each restored.
class RunSessionCreator final : public SessionCreator {
 public:
  // Requires: `early`, unless null, outlives the first session.
  RunSessionCreator(Graph& graph, ChiefSessionCreatorOptions options, internal::RunRestore restore,
                    std::shared_ptr<internal::RunAgreement> agreement,
                    const internal::EarlyRestore* early,
                    std::shared_ptr<internal::RunJournal> journal)
      : graph_(graph),
        options_(std::move(options)),
        restore_(std::move(restore)),
        agreement_(std::move(agreement)),
        early_(early),
        journal_(std::move(journal)) {}

  Graph& graph() const override { return graph_; }

  // Throws: as ChiefSessionCreator and RunRestore do.
  CreatedSession create_session() override {
    if (journal_) journal_->begin_session();
    CreatedSession created = restore_session();
    if (journal_) {
      const bool has_step = created.session->graph().global_step().has_value();
      journal_->record_session(created.restored, has_step ? read_global_step(*created.session) : 0);
    }
    return created;
  }

  void go_back_to(int64_t step) override { restore_.go_back_to(step); }

 private:
  CreatedSession restore_session() {
    const auto create = [this](const internal::RestoreSession& restore) {
      ChiefSessionCreatorOptions options = options_;
      options.restore = restore;
      return ChiefSessionCreator(graph_, std::move(options)).create_session();
    };
    CreatedSession created;
    if (early_ != nullptr) {
      created = create(
          [this](Session& session, const auto&) { return restore_.finish(session, *early_); });
      early_ = nullptr;
    } else {
      created = restore_.start(*agreement_, create).created;
      if (created.restored) log_info(fmt::format("restored {}", created.restored->prefix));
    }
    return created;
  }

  Graph& graph_;  // Not owned; outlives this.
  const ChiefSessionCreatorOptions options_;
  const internal::RunRestore restore_;
  const std::shared_ptr<internal::RunAgreement> agreement_;
  const internal::EarlyRestore* early_;  // Until the first session is made.
  const std::shared_ptr<internal::RunJournal> journal_;
};

// What the ranks of a group must have in common.
internal::Fingerprint fingerprint_of(const TrainingRun& run) {
  internal::Fingerprint fingerprint = {{"the checkpoints' directory", run.checkpoint.dir},
                                       {"the checkpoints' basename", run.checkpoint.basename.str()},
                                       {"max_recoveries", fmt::format("{}", run.max_recoveries)}};
  const auto ranks = internal::RankLayout::find(run.graph);
  // Values of this rank have the names that those of rank 0 have there.
  const auto common_name = [&](const std::string& name) {
    const auto found = ranks ? ranks->rank_name(name) : std::nullopt;
    if (!found) return name;
    const size_t end = name.find('/', found->name.size() + 1);
    return fmt::format("{}/rank-*{}", found->name,
                       end == std::string::npos ? "" : name.substr(end));
  };
  for (const Variable& variable : run.graph.variables()) {
    const auto* const part = ranks ? ranks->slice_of(variable.name()) : nullptr;
    fingerprint.emplace_back(
        fmt::format("{} \"{}\"", part != nullptr ? "sharded" : "variable",
                    common_name(variable.name())),
        fmt::format("{} {}", dtype_name(variable.dtype()),
                    to_string(part != nullptr ? part->place.full_shape : variable.shape())));
  }
  for (const RegisteredSaveable& saveable : run.graph.saveables())
    if (!saveable.optional)
      fingerprint.emplace_back(fmt::format("object \"{}\"", common_name(saveable.name)), "tracked");
  return fingerprint;
}

// A Loop has the saver's options in `checkpoint`.
void check_rank_options(const TrainingRun& run, const Scaffold& scaffold) {
  const auto ranks = internal::RankLayout::find(run.graph);
  if (!ranks || !ranks->is_shared() || !ranks->has_pieces() || run.checkpoint.dir.empty()) return;
  if (scaffold.saver->options().format != CheckpointFormat::kTensorBundle)
    throw InvalidArgumentError(
        "saver.format: arrays that several ranks have together are saved as kTensorBundle only, "
        "which `crochet convert` converts");
  if (!scaffold.saver->fallback_dir().empty())
    throw InvalidArgumentError(fmt::format(
        "saver.fallback_dir is \"{}\", expected none: arrays that several ranks have together are "
        "saved in the directory of the run's checkpoints only",
        scaffold.saver->fallback_dir()));
}

std::unique_ptr<SessionCreator> make_creator(const TrainingRun& run,
                                             const std::shared_ptr<Scaffold>& scaffold,
                                             const std::shared_ptr<internal::RunJournal>& journal) {
  if (!run.is_chief)
    return std::make_unique<WorkerSessionCreator>(
        run.graph, WorkerSessionCreatorOptions{.scaffold = scaffold,
                                               .master = run.master,
                                               .config = run.config,
                                               .max_wait_secs = run.max_wait_secs,
                                               .recovery_wait_secs = run.recovery_wait_secs,
                                               .clock = run.clock});
  ChiefSessionCreatorOptions chief{.scaffold = scaffold,
                                   .master = run.master,
                                   .config = run.config,
                                   .checkpoint_dir = run.checkpoint.dir};
  return std::make_unique<RunSessionCreator>(
      run.graph, std::move(chief), internal::RunRestore(scaffold, run.checkpoint, run.restore),
      run.agreement, run.early, journal);
}

std::shared_ptr<internal::RunJournal> make_journal(const TrainingRun& run) {
  if (run.checkpoint.dir.empty() || !run.is_chief || !run.agreement->is_chief()) return nullptr;
  return std::make_shared<internal::RunJournal>(
      run.checkpoint.dir,
      internal::RunJournal::Settings{
          .num_ranks = run.agreement->group() ? run.agreement->group()->size() : 1,
          .options = run.options,
          .hyperparameters = run.hyperparameters},
      internal::TimeLedger::of(run.graph), FileSystem::or_posix(run.files),
      Clock::or_real(run.clock));
}

MonitoredSessionOptions session_options(const TrainingRun& run) {
  return {.max_recoveries = run.max_recoveries,
          .can_recover = run.can_recover,
          .stop_grace_period_secs = run.ending.stop_grace_period_secs,
          .clock = run.clock,
          .ends_if_finished = !run.ending.continue_finished,
          .saves_on_error = run.saves_on_error};
}

void record_start(const MonitoredSession& session, RunReport& report) {
  report.first_step = report.last_step = session.first_step().value_or(0);
  report.restore = session.restored();
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

void record_end(MonitoredSession& session, RunReport& report) {
  report.stop =
      session.stop_request().value_or(StopRequest{"the program", "nothing was left to do"});
  report.last_step = session.current_step().value_or(report.first_step);
  report.recoveries = session.num_recoveries();
}

}  // namespace

internal::StartedRun::StartedRun(TrainingRun run)
    : run_(std::move(run)), scaffold_(scaffold_of(run_)), journal_(make_journal(run_)) {
  check_rank_options(run_, *scaffold_);
  RunAgreement& agreement = *run_.agreement;
  attached_.emplace(run_.graph, run_.agreement);
  agreement.check_same([this] { return fingerprint_of(run_); });
  check_shards(run_.graph, agreement);
  hooks_ = wire_default_hooks(run_, scaffold_);
  if (auto outputs = make_outputs_hook(
          run_.graph,
          {.directory = run_.checkpoint.dir, .files = run_.files, .agreement = run_.agreement}))
    hooks_.insert(hooks_.begin(), std::move(outputs));

  try {
    session_.reset(new MonitoredSession(make_creator(run_, scaffold_, journal_), hooks_,
                                        session_options(run_), MonitoredSession::Recovery::kOn,
                                        run_.agreement));
  } catch (const CancelledError& error) {
    if (pending_signal() == 0 || !agreement.is_alone()) throw;
    report_.stop = {"SignalHook", error.what(), pending_signal()};
  }
  if (session_) record_start(*session_, report_);
}

internal::StartedRun::~StartedRun() {
  if (journal_ && session_ && session_->closed_) journal_->end_failed(session_->closed_at_step_);
}

void internal::StartedRun::record_changed_state() {
  if (!session_ || session_->current_step() == session_->first_step()) return;
  for (const HookHandle& hook : hooks_)
    if (auto* const saver = dynamic_as<CheckpointSaverHook>(&*hook)) saver->record_changed_state();
}

void internal::StartedRun::record_failure_between_steps() {
  if (session_) session_->fails_between_steps_ = true;
}

void internal::StartedRun::close_session() {
  if (!journal_) return session_->close();
  if (const auto request = session_->stop_request())
    journal_->record_stop(*request, session_->current_step().value_or(0));
  try {
    session_->close();
  } catch (...) {
    journal_->fail(std::current_exception());
    throw;
  }
}

RunReport internal::StartedRun::finish() {
  if (session_) {
    close_session();
    record_end(*session_, report_);
  }
  report_.signal = pending_signal() != 0 ? pending_signal() : report_.stop.signal;
  report_.saving = saving_of(hooks_);
  report_.saves = report_.saving.saved;
  report_.failed_saves = report_.saving.failed;
  if (session_) report_.times = TimeLedger::of(run_.graph).times();
  if (journal_) journal_->end(report_);
  std::string text =
      fmt::format("the run ended at {}; exit code {}", to_string(report_), report_.exit_code());
  if (!run_.checkpoint.dir.empty() && scaffold_->saver)
    text += "; " + scaffold_->saver->newest_text();
  log_info(text);
  return std::move(report_);
}

std::shared_ptr<internal::RunAgreement> internal::agreement_for(const RankOptions& options,
                                                                Graph& graph) {
  return make_agreement(options.group, options.agree_every_n_steps, options.timeout_secs, graph);
}

RunReport internal::train(TrainingRun run,
                          const std::function<void(MonitoredSession& session)>& body) {
  StartedRun started(std::move(run));
  if (MonitoredSession* const session = started.session())
    run_or_abort(*session, [&] { body(*session); });
  return started.finish();
}

}  // namespace crochet::inline v0
