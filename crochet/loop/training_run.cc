// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/training_run.h"

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/dynamic_type.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/saver/registered_saver.h"
#include "crochet/group/message_bytes.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/loop/default_hooks.h"
#include "crochet/loop/group_restore.h"
#include "crochet/loop/rank_shards.h"
#include "crochet/loop/restoring.h"
#include "crochet/monitor/internal/group_run.h"
#include "crochet/monitor/run_group.h"
#include "crochet/session/nested_names.h"
#include "crochet/session/rank_state.h"

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
    Saver saver(std::move(rest), internal::for_saver(early_.options));
    if (early_.is_own)
      saver.resume(*session, early_.report.prefix);
    else
      saver.restore(*session, early_.report.prefix);
    scaffold_->saver->set_unused_aside();  // The hooks hold the lock now.
    log_info(fmt::format("the run continues from {}, which was restored before it",
                         early_.report.prefix));
    return session;
  }

  bool is_rest(std::string_view name) const {
    if (!early_.is_own && !early_.options.only.match(std::string(name))) return false;
    // A part of a value that was restored has a name beneath the value's.
    return !internal::is_any_at_or_above(
        name, [this](std::string_view owner) { return early_.names.contains(owner); });
  }

  const internal::EarlyRestore& early_;
  const std::shared_ptr<Scaffold> scaffold_;
  const std::unique_ptr<SessionCreator> later_;
  int num_sessions_ = 0;
};

// Creates the sessions of a rank: the chief's as if it were alone, and those of the others from the
// checkpoint that the chief restored.
class GroupSessionCreator final : public SessionCreator {
 public:
  // Requires: `chosen_from`, unless null, outlives this.
  GroupSessionCreator(Graph& graph, ChiefSessionCreatorOptions options,
                      std::shared_ptr<internal::GroupRun> run, std::string* chosen_from)
      : graph_(graph),
        options_(std::move(options)),
        run_(std::move(run)),
        chosen_from_(chosen_from) {}

  Graph& graph() const override { return graph_; }

  // If a rank finds the chosen checkpoint damaged, of which it may read other bytes than the chief,
  // the chief chooses another one.
  // Throws: as the chief's creator, and as GroupRun::choose.
  std::unique_ptr<Session> create_session() override {
    Saver& saver = *options_.scaffold->saver;
    while (true) {
      std::unique_ptr<Session> session;
      saver.hold_unused(true);
      const std::string chosen = run_->choose([&] {
        session = create(options_);
        const std::optional<RestoreReport> report = creator_->restore_report();
        return internal::MessageWriter()
            .text(report ? report->prefix : "")
            .text(chosen_from_ != nullptr ? *chosen_from_ : "")
            .take();
      });
      internal::MessageReader reader(chosen);
      const std::string prefix(reader.text());
      std::string damage;
      if (!session) {
        if (chosen_from_ != nullptr) *chosen_from_ = reader.text();
        session = create_from(prefix, damage);
      }
      const auto found = internal::damage_in_any(run_->group(), damage, run_->timeout_secs());
      if (!found) {
        saver.hold_unused(false);
        return session;
      }
      if (session) session->close();
      saver.refuse(prefix, *found);
    }
  }

  std::optional<RestoreReport> restore_report() const override {
    return creator_ ? creator_->restore_report() : std::nullopt;
  }

 private:
  // Null, with the reason, if that checkpoint is damaged.
  std::unique_ptr<Session> create_from(const std::string& prefix, std::string& damage) {
    ChiefSessionCreatorOptions own = options_;
    own.checkpoint_dir.clear();
    own.checkpoint_filename_with_path = prefix;
    try {
      return create(own);
    } catch (const DataLossError& error) {
      if (prefix.empty()) throw;  // Of the checkpoint of another run, for which there is no choice.
      damage = error.what();
      return nullptr;
    }
  }

  std::unique_ptr<Session> create(const ChiefSessionCreatorOptions& options) {
    creator_ = std::make_unique<ChiefSessionCreator>(graph_, options);
    return creator_->create_session();
  }

  Graph& graph_;  // Not owned; outlives this.
  const ChiefSessionCreatorOptions options_;
  const std::shared_ptr<internal::GroupRun> run_;
  std::string* const chosen_from_;
  std::unique_ptr<ChiefSessionCreator> creator_;  // Of the last session.
};

// What the ranks of a group must have in common.
std::vector<internal::Fact> facts_of(const TrainingRun& run) {
  std::vector<internal::Fact> facts = {
      {"the checkpoints' directory", run.checkpoint.dir},
      {"the checkpoints' basename", run.checkpoint.basename.str()},
      {"ranks.agree_every_n_steps", fmt::format("{}", run.ranks.agree_every_n_steps)},
      {"max_recoveries", fmt::format("{}", run.max_recoveries)}};
  const auto ranks = internal::RankState::find(run.graph);
  // Values of this rank have the names that those of rank 0 have there.
  const auto common_name = [&](const std::string& name) {
    const auto found = ranks ? ranks->rank_name(name) : std::nullopt;
    if (!found) return name;
    const size_t end = name.find('/', found->name.size() + 1);
    return fmt::format("{}/rank-*{}", found->name,
                       end == std::string::npos ? "" : name.substr(end));
  };
  for (const Variable& variable : run.graph.variables()) {
    const auto* const part = ranks ? ranks->part_of(variable.name()) : nullptr;
    facts.emplace_back(
        fmt::format("{} \"{}\"", part != nullptr ? "sharded" : "variable",
                    common_name(variable.name())),
        fmt::format("{} {}", dtype_name(variable.dtype()),
                    to_string(part != nullptr ? part->place.full_shape : variable.shape())));
  }
  for (const RegisteredSaveable& saveable : run.graph.saveables())
    if (!saveable.optional)
      facts.emplace_back(fmt::format("object \"{}\"", common_name(saveable.name)), "tracked");
  return facts;
}

void check_rank_options(const TrainingRun& run, const Scaffold& scaffold) {
  const auto ranks = internal::RankState::find(run.graph);
  if (!ranks || !ranks->is_shared() || !ranks->has_pieces() || run.checkpoint.dir.empty()) return;
  if (scaffold.saver->options().format != CheckpointFormat::kTensorBundle)
    throw InvalidArgumentError(
        "checkpoint.saver.format: arrays that several ranks have together are saved as "
        "kTensorBundle "
        "only, which `crochet convert` converts");
  if (!scaffold.saver->fallback_dir().empty())
    throw InvalidArgumentError(fmt::format(
        "checkpoint.saver.fallback_dir is \"{}\", expected none: arrays that several ranks have "
        "together are saved in checkpoint.dir only",
        scaffold.saver->fallback_dir()));
}

std::shared_ptr<internal::GroupRun> make_group_run(const TrainingRun& run) {
  if (!run.ranks.group) {
    internal::check_shards(run.graph, nullptr, run.ranks.timeout_secs);
    return nullptr;
  }
  auto group_run = std::make_shared<internal::GroupRun>(
      run.ranks.group, run.ranks.agree_every_n_steps, run.ranks.timeout_secs);
  group_run->check_same(facts_of(run));
  internal::check_shards(run.graph, &*run.ranks.group, run.ranks.timeout_secs);
  return group_run;
}

std::unique_ptr<SessionCreator> make_creator(const TrainingRun& run,
                                             const std::shared_ptr<Scaffold>& scaffold,
                                             const std::shared_ptr<internal::GroupRun>& group_run) {
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
                                   .checkpoint_dir = run.checkpoint.dir,
                                   .checkpoint_basename = run.checkpoint.basename};
  std::unique_ptr<SessionCreator> creator;
  if (group_run)
    creator = std::make_unique<GroupSessionCreator>(run.graph, std::move(chief), group_run,
                                                    run.chosen_from);
  else
    creator = std::make_unique<ChiefSessionCreator>(run.graph, std::move(chief));
  if (run.early == nullptr) return creator;
  return std::make_unique<ContinuedSessionCreator>(*run.early, scaffold, std::move(creator));
}

std::unique_ptr<MonitoredSession> make_session(const TrainingRun& run,
                                               std::unique_ptr<SessionCreator> creator,
                                               const HookList& hooks,
                                               std::shared_ptr<internal::GroupRun> group_run) {
  return std::make_unique<MonitoredSession>(
      std::move(creator), hooks,
      MonitoredSessionOptions{.max_recoveries = run.max_recoveries,
                              .can_recover = run.can_recover,
                              .stop_grace_period_secs = run.ending.stop_grace_period_secs,
                              .clock = run.clock,
                              .group_run = std::move(group_run),
                              .ends_if_finished = !run.ending.continue_finished,
                              .saves_on_error = run.saves_on_error});
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

internal::StartedRun::StartedRun(TrainingRun run)
    : run_(std::move(run)), scaffold_(scaffold_of(run_)) {
  if (const auto ranks = RankState::find(run_.graph); ranks && run_.ranks.group)
    ranks->set_rank(run_.ranks.group->rank(), run_.ranks.group->size());
  check_rank_options(run_, *scaffold_);
  attached_.emplace(run_.graph, run_.ranks.group);
  const std::shared_ptr<GroupRun> group_run = make_group_run(run_);
  hooks_ = wire_default_hooks(run_, scaffold_, group_run);

  std::unique_ptr<SessionCreator> creator = make_creator(run_, scaffold_, group_run);
  creator_ = creator.get();
  try {
    session_ = make_session(run_, std::move(creator), hooks_, group_run);
  } catch (const CancelledError& error) {
    if (pending_signal() == 0 || (run_.ranks.group && run_.ranks.group->size() > 1)) throw;
    report_.stop = {"SignalHook", error.what(), pending_signal()};
  }
  if (session_) note_start(*session_, *creator_, report_);
}

internal::StartedRun::~StartedRun() = default;

void internal::StartedRun::note_changed_state() {
  if (!session_ || session_->current_step() == session_->first_step()) return;
  for (const HookHandle& hook : hooks_)
    if (auto* const saver = dynamic_as<CheckpointSaverHook>(&*hook)) saver->note_changed_state();
}

RunReport internal::StartedRun::finish() {
  if (session_) {
    session_->close();
    note_end(*session_, report_);
  }
  report_.signal = pending_signal();
  report_.saving = saving_of(hooks_);
  report_.saves = report_.saving.saved;
  report_.failed_saves = report_.saving.failed;
  log_info("the run ended at " + to_string(report_));
  return std::move(report_);
}

RunReport internal::train(TrainingRun run,
                          const std::function<void(MonitoredSession& session)>& body) {
  StartedRun started(std::move(run));
  if (MonitoredSession* const session = started.session())
    run_or_abort(*session, [&] { body(*session); });
  return started.finish();
}

}  // namespace crochet::inline v0
