// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/internal/loop_state.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/caught.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/saver/internal/saver_access.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/loop/internal/average.h"
#include "crochet/loop/internal/option_checks.h"
#include "crochet/loop/internal/rehearsed_steps.h"
#include "crochet/loop/internal/restore_advice.h"
#include "crochet/loop/internal/restoring.h"
#include "crochet/loop/internal/run_restore.h"
#include "crochet/loop/internal/run_settings.h"
#include "crochet/loop/internal/training_run.h"
#include "crochet/loop/loop.h"
#include "crochet/outputs/internal/outputs_hook.h"
#include "crochet/ranks/internal/rank_shards.h"
#include "crochet/ranks/internal/run_agreement.h"
#include "crochet/session/internal/after_restore.h"
#include "crochet/session/internal/held_generators.h"
#include "crochet/session/parted_saveable.h"
#include "crochet/tracking/internal/restore_purpose.h"
#include "crochet/tracking/internal/tracked_epochs.h"

namespace crochet::inline v0::internal {
namespace {

// Records which function of a loop is being called.
class Within {
 public:
  // Requires: `recorded` is null, and outlives this.
  Within(const char*& recorded, const char* function) : recorded_(recorded) {
    recorded_ = function;
  }
  ~Within() { recorded_ = nullptr; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  const char*& recorded_;
};

// Removes objects from a graph when it is destroyed.
class RemovedSaveables {
 public:
  RemovedSaveables(Graph& graph, std::vector<std::string> names)
      : graph_(graph), names_(std::move(names)) {}
  ~RemovedSaveables() {
    for (const std::string& name : names_) graph_.remove_saveable(name);
  }
  RemovedSaveables(const RemovedSaveables&) = delete;
  RemovedSaveables& operator=(const RemovedSaveables&) = delete;

 private:
  Graph& graph_;
  const std::vector<std::string> names_;
};

// Of step() after the end of a run: then the program's loop seems not to end.
constexpr int64_t kManyCallsAfterStop = 1000;

int64_t next_step(const Tensor& completed) { return global_step_value(completed) + 1; }

}  // namespace

// Passes on what steps request of hooks; has the state of the averages, and why the body has ended
// the run.
class LoopState::OwnHook final : public SessionRunHook {
 public:
  // Requires: the loop outlives this.
  OwnHook(LoopState& loop, Operation train) : loop_(loop), train_(train) {}

  // Not earlier: a run that is finished makes no step.
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override {
    if (loop_.rehearsal_is_due_) loop_.rehearse(context.session(), train_);
    return {};
  }

  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    std::optional<std::string>& save = loop_.step_.save_;
    if (save) context.request_save(*std::exchange(save, std::nullopt));
    // Before the savers, so that the last checkpoint has it.
    std::optional<std::string>& stop = loop_.step_.stop_;
    if (stop) loop_.session_->request_stop(end_by_body(*std::exchange(stop, std::nullopt)));
  }
  SaveableMap saveables() override {
    SaveableMap state;
    for (const auto& [name, average] : loop_.averages_) state["average/" + name] = average;
    state["end"] = std::make_shared<EndState>(*this);
    return state;
  }
  std::optional<StopRequest> finished() const override {
    return end_.empty() ? std::nullopt : std::optional(end_by_body(end_));
  }
  std::string name() const override { return "Loop"; }
  static StopRequest end_by_body(std::string reason) {
    return {"the program", std::move(reason), 0, /*is_end=*/true};
  }

 private:
  // Only a checkpoint of a run that its body has ended has the reason.
  class EndState final : public PartedSaveable {
   public:
    explicit EndState(OwnHook& hook) : hook_(hook) {}
    TensorMap save() const override {
      const std::string reason = hook_.end_now();
      if (reason.empty()) return {};
      return {{kReason, Tensor::scalar(reason)}};
    }
    std::vector<StatePart> parts_for(const StoredParts& stored) const override {
      if (stored.find(kReason) == nullptr) return {};
      return {{.key = kReason, .dtype = DType::kString}};
    }
    void restore_parts(const StoredParts&, PartValues& values) override {
      hook_.end_.clear();
      // Another run's end, from which this one starts, is not its own.
      const bool is_own = RestorePurpose::of(hook_.loop_.graph_)->is_own_run;
      if (is_own && values.parts().find(kReason) != nullptr)
        values.read_later(kReason, [this](PartValue& value) {
          const Tensor reason = value.read();
          hook_.end_ = reason.strings()[0];
        });
    }

   private:
    static constexpr const char* kReason = "reason";
    OwnHook& hook_;
  };

  // The reason for which the body has ended the run; empty if it has not.
  std::string end_now() const {
    if (loop_.session_ == nullptr) return {};
    const std::optional<StopRequest> stop = loop_.session_->stop_request();
    return stop && stop->is_end ? stop->reason : "";
  }

  LoopState& loop_;
  const Operation train_;
  std::string end_;  // As restored.
};

// The program may change its working directory at any time.
void LoopState::fix_paths() {
  const FileSystem& files = FileSystem::or_posix(options_.files);
  for (std::string* const path :
       {&options_.checkpoint.dir, &options_.checkpoint.fast_dir,
        &options_.checkpoint.saver.fallback_dir, &options_.summaries.dir, &options_.restore.from})
    *path = files.fixed_path(*path);
}

LoopState::LoopState(LoopOptions options)
    : options_(std::move(options)),
      scaffold_(std::make_shared<Scaffold>()),
      agreement_(agreement_for(options_.ranks, graph_)),
      global_step_(graph_.create_global_step()),
      tracker_(graph_, "") {
  agreement_->as_rank([this] { set_up(); });
}

void LoopState::set_up() {
  fix_paths();
  check_options(options_);
  check_at("LoopOptions: checkpoint.saver", [&] {
    scaffold_->saver =
        std::make_shared<Saver>(saver_options(options_.checkpoint, options_.files, options_.clock),
                                for_saver(options_.restore));
  });
  graph_.set_copy_threads(options_.checkpoint.copy_threads);
  graph_.set_checks_snapshots(options_.debug.check_torn_snapshots);
  // What steps that are made again request was requested the first time.
  graph_.attach(std::make_shared<AfterRestore>(AfterRestore{[this] {
    step_.save_.reset();
    step_.stop_.reset();
  }}));
}

LoopState::~LoopState() {
  if (!started_) return;
  constexpr const char* kWhy = "the loop was destroyed before Loop::finish";
  log_warning(fmt::format("{}: its run counts as failed", kWhy));
  if (!options_.ending.save_on_error) started_->record_failure_between_steps();
  started_.reset();
  agreement_->fail(std::make_exception_ptr(CancelledError(kWhy)));
}

TrainingRun LoopState::training_run() {
  // The user's memory cannot be initialised again: a recovery needs a checkpoint.
  std::function<bool()> can_recover;
  if (agreement_->is_chief())
    can_recover = [restore = run_restore()] { return restore.has_checkpoint(); };
  return {.graph = graph_,
          .checkpoint = options_.checkpoint,
          .summaries = options_.summaries,
          .has_last_summaries = true,
          .agreement = agreement_,
          .scaffold = scaffold_,
          .hooks = options_.hooks,
          .max_recoveries = options_.max_recoveries,
          .can_recover = std::move(can_recover),
          .restore = options_.restore,
          .ending = options_.ending,
          .files = options_.files,
          .clock = options_.clock,
          .options = changed_options(options_),
          .hyperparameters = hyperparameters_,
          .early = restored_.get(),
          .steps_per_run = 1,
          .saves_on_error = true};
}

void LoopState::add_hyperparameter(Hyperparameter hyperparameter) {
  check_not_run("hyperparameter");
  if (hyperparameter.name.empty()) throw InvalidArgumentError("Loop: a hyperparameter has no name");
  if (std::ranges::count(hyperparameters_, hyperparameter.name, &Hyperparameter::name) > 0)
    throw AlreadyExistsError(
        fmt::format("Loop: \"{}\" is the name of two hyperparameters", hyperparameter.name));
  hyperparameters_.push_back(std::move(hyperparameter));
}

void LoopState::check_not_run(const char* what) const {
  if (has_run_)
    throw FailedPreconditionError(
        what == std::string_view("run") || what == std::string_view("start")
            ? fmt::format("Loop::{} may be called only once: a loop makes one run", what)
            : fmt::format("Loop::{} must be called before run()", what));
  check_not_within(what);
}

void LoopState::check_not_within(const char* what) const {
  if (within_ != nullptr)
    throw FailedPreconditionError(
        fmt::format("Loop::{} was called from within Loop::{}", what, within_));
}

void LoopState::check_new_value(const std::string& name) const {
  check_not_run("value");
  if (name.empty())
    throw InvalidArgumentError("Loop: a scalar, average, histogram, text or value has no name");
  if (std::ranges::count(values_, name, &Value::name) > 0)
    throw AlreadyExistsError(fmt::format(
        "Loop: \"{}\" is the name of two scalars, averages, histograms, texts or values", name));
}

Tracker& LoopState::tracker() {
  check_not_run("track");
  return tracker_;
}

void LoopState::add_value(std::string name, std::function<Tensor()> compute,
                          std::string_view collection) {
  check_new_value(name);
  values_.push_back({std::move(name), std::move(compute), collection});
}

void LoopState::add_hook(HookHandle hook) {
  check_not_run("add_hook");
  options_.hooks.push_back(std::move(hook));
}

RunRestore LoopState::run_restore() const {
  return {scaffold_, options_.checkpoint, options_.restore};
}

int64_t LoopState::restore() {
  check_not_run("restore");
  const Within within(within_, "restore");
  return agreement_->as_rank([this] {
    const auto create = [this](const RestoreSession& restore) {
      CreatedSession created{graph_.new_session("")};
      created.restored = restore(*created.session, {});
      return created;
    };
    StartedSession started;
    with_advice({.options = options_.restore, .graph = graph_},
                [&] { started = run_restore().start(*agreement_, create); });
    restored_.reset();
    step_to_save_.reset();
    auto& [created, is_own] = started;
    if (!created.restored) return int64_t{0};
    restored_ = std::make_shared<EarlyRestore>(
        EarlyRestore{*std::move(created.restored), is_own, tracked_names()});
    step_to_save_ = read_global_step(*created.session);
    return *step_to_save_;
  });
}

std::set<std::string, std::less<>> LoopState::tracked_names() const {
  std::set<std::string, std::less<>> names;
  for (const Variable& variable : graph_.variables())
    if (variable != global_step_) names.insert(variable.name());
  for (const RegisteredSaveable& saveable : graph_.saveables()) names.insert(saveable.name);
  return names;
}

std::string LoopState::save() {
  return agreement_->as_rank([this] {
    const bool is_joint = agreement_->shares_state();
    if (is_joint) {
      check_may_save();
      agreement_->share("");  // The others look for checkpoints before there is a new one.
      check_shards(graph_, *agreement_);
    }
    const std::string prefix = agreement_->is_chief() ? save_state() : "";
    if (is_joint) {
      agreement_->meet_saves(*graph_.new_session(""), *scaffold_->saver, step_to_save_.value_or(0));
      agreement_->finish_saves();
    }
    return agreement_->share(prefix);
  });
}

std::string LoopState::save_state() {
  check_may_save();
  const Within within(within_, "save");
  Saver& saver = *scaffold_->saver;
  const int64_t step = step_to_save_.value_or(0);
  const DirectoryLock lock(saver.files(), options_.checkpoint.dir,
                           options_.checkpoint.saving.lock_directory ? DirectoryLock::Kind::kFile
                                                                     : DirectoryLock::Kind::kNone);
  const std::string path = join_path(options_.checkpoint.dir, options_.checkpoint.basename.str());
  const RemovedSaveables hook_state(
      graph_, add_hook_state(restored_ && !has_run_ ? restored_->report.prefix
                                                    : saver.prefix_of(path, step)));
  const std::unique_ptr<Session> session = graph_.new_session("");
  const Tensor value = Tensor::scalar(step);
  const Assignment assignment{
      .variable = global_step_, .shape = {}, .fill = [&](std::span<std::byte> bytes) {
        std::ranges::copy(value.bytes(), bytes.begin());
      }};
  session->assign({&assignment, 1});
  return SaverAccess::save_with(saver, agreement_->joint_save(), *session, path, step);
}

void LoopState::check_may_save() const {
  if (started_ || (within_ != nullptr && has_run_ && !step_to_save_))
    throw FailedPreconditionError(
        "Loop::save during run(): use Step::request_save(), or in a hook "
        "SessionRunContext::request_save()");
  check_not_within("save");
  if (options_.checkpoint.dir.empty())
    throw FailedPreconditionError("Loop::save: the loop has no checkpoint.dir");
  if (has_run_ && !step_to_save_)
    throw FailedPreconditionError(
        "Loop::save after a run that failed: the state may hold half a step");
  if (step_to_save_) return;
  FileSystem& files = scaffold_->saver->files();
  if (files.exists(options_.checkpoint.dir) &&
      !list_checkpoints(files, options_.checkpoint.dir, options_.checkpoint.basename).empty())
    throw FailedPreconditionError(fmt::format(
        "Loop::save: {} has checkpoints that are not restored: call restore() or run() first",
        options_.checkpoint.dir));
}

std::vector<std::string> LoopState::add_hook_state(const std::string& prefix) {
  FileSystem& files = scaffold_->saver->files();
  if (!checkpoint_exists(files, prefix)) return {};
  TensorMap state;
  const CheckpointReader reader(prefix, files);
  for (const auto& [name, info] : reader.tensors())
    if (name.starts_with("hooks/")) state.emplace(name, reader.read(name));
  std::vector<std::string> names;
  for (const auto& [name, value] : state) {
    const auto save = [value = value] { return TensorMap{{"", value}}; };
    graph_.saveable(name, make_saveable(save, [](const TensorMap&) {}));
    names.push_back(name);
  }
  return names;
}

void LoopState::add_average(std::string name, std::function<Tensor()> compute,
                            const AverageOptions& options) {
  check_not_run("average");
  check_new_value(name);
  const auto average = make_average(std::move(compute), options, graph_);
  averages_.emplace(name, average);
  add_value(
      std::move(name), [average] { return average->mean(); }, kSummariesCollection);
}

void LoopState::check_epochs_are_tracked() const {
  if (!tracked_epochs(graph_))
    throw FailedPreconditionError(
        "Loop::run_epochs: no Epochs is tracked, so that a resumed run would begin with the first "
        "one again: call Loop::track for it before");
}

void LoopState::add_epoch_value() {
  const auto is_it = [](const Value& value) { return value.name == "epoch"; };
  const EpochProgress epochs = tracked_epochs(graph_);
  if (!epochs || std::ranges::any_of(values_, is_it)) return;
  values_.push_back({"epoch", [epochs] { return to_tensor(epochs()); }, kSummariesCollection});
}

void LoopState::begin_step(const LoopBody& part, int64_t number) {
  step_.number_ = number;
  step_.save_.reset();  // A request of an attempt that failed.
  while (attempt(part) == LoopAction::kSkip) {
    ++skipped_steps_;
    end_after_skip_if_requested();
  }
}

LoopAction LoopState::attempt(const LoopBody& part) {
  const LoopAction action = part(step_);
  if (action == LoopAction::kStop) step_.request_stop("the body returned LoopAction::kStop");
  return action;
}

// Hooks are not called between the attempts, SignalHook included.
void LoopState::end_after_skip_if_requested() {
  if (is_rehearsing_) {
    if (step_.stop_ || pending_signal() != 0) throw StopIteration();
    return;
  }
  if (std::optional<std::string> stop = std::exchange(step_.stop_, std::nullopt))
    session_->request_stop(OwnHook::end_by_body(*std::move(stop)));
  else if (pending_signal() != 0)
    session_->request_stop(signal_name(pending_signal()));
  if (session_->should_stop()) throw StopIteration();
}

// What the steps request is forgotten with the last restore (set_up()).
void LoopState::rehearse(Session& session, const Operation& train) {
  rehearsal_is_due_ = false;
  is_rehearsing_ = true;
  const auto make_step = [&] {
    try {
      session.run(train);
    } catch (...) {
      if (!is_end_of_input(std::current_exception())) throw;
      return false;
    }
    return !std::exchange(step_.stop_, std::nullopt);
  };
  internal::rehearse(session, FileSystem::or_posix(options_.files),
                     {.prefix = join_path(options_.checkpoint.dir, "rehearsal"),
                      .num_steps = options_.debug.rehearsal_steps,
                      .when_restored = [this] { call_after_restore(graph_); },
                      .make_step = make_step});
  skipped_steps_ = 0;
  is_rehearsing_ = false;
}

Operation LoopState::add_step() {
  const Variable step = global_step_;
  const bool has_two_parts = compute_ != nullptr;
  std::vector<Output> before_update;
  if (has_two_parts) {
    graph_.set_background_copies(true);
    before_update.push_back(graph_.add({.name = "loop/compute",
                                        .reads = {step},
                                        .kernel = [this, step](local::KernelContext& context) {
                                          begin_step(*compute_, next_step(context.variable(step)));
                                        }}));
  }
  const Operation body =
      graph_.add({.name = "loop/update",
                  .control_inputs = before_update,
                  .reads = {step},
                  .changes_borrowed = true,
                  .intact_at_end_of_input = !has_two_parts,
                  .intact_on_error = !has_two_parts && options_.ending.save_on_error,
                  .kernel = [this, step, has_two_parts](local::KernelContext& context) {
                    if (!has_two_parts)
                      begin_step(*update_, next_step(context.variable(step)));
                    else if (attempt(*update_) == LoopAction::kSkip)
                      throw InvalidArgumentError(
                          "Loop::run(compute, update): update returned LoopAction::kSkip: only "
                          "compute can skip a step");
                    for (const auto& [name, average] : averages_) average->add();
                  }});
  const Operation train = graph_.increment_global_step({body});
  const auto generators = HeldGenerators::find(graph_);
  for (Value& value : values_) {
    if (graph_.find_operation(value.name) != nullptr)
      throw AlreadyExistsError(
          fmt::format("Loop: a value is called \"{}\", a name that the loop needs", value.name));
    const auto compute_value = [generators, compute = std::move(value.compute)] {
      const HeldGenerators held(generators);
      return compute();
    };
    const Output output = graph_.value(value.name, compute_value, {train});
    if (!value.collection.empty()) graph_.add_to_collection(value.collection, output);
  }
  return train;
}

RunReport LoopState::run_steps(const LoopBody& compute, const LoopBody& update) {
  check_not_run("run");
  return agreement_->as_rank([&] {
    start_run("run", compute ? &compute : nullptr, &update);
    if (session_ != nullptr)
      within_run("run", [this] {
        run_or_abort(*session_, [this] {
          while (!session_->should_stop()) session_->run(train_);
        });
      });
    return finish_run("run");
  });
}

int64_t LoopState::start_steps() {
  check_not_run("start");
  return agreement_->as_rank([this] {
    start_run("start", nullptr, nullptr);
    return session_ == nullptr ? 0 : session_->first_step().value_or(0);
  });
}

bool LoopState::should_stop() const {
  if (!has_run_) throw FailedPreconditionError("Loop::should_stop was called before Loop::start");
  return session_ == nullptr || session_->should_stop();
}

bool LoopState::make_step(const LoopBody& body) {
  if (!ended_) check_started("step");
  if (should_stop()) {
    if (++calls_after_stop_ == kManyCallsAfterStop)
      log_warning(fmt::format(
          "Loop::step was called {} times after the run had ended, and did nothing: leave the "
          "program's loop when it returns false",
          kManyCallsAfterStop));
    return false;
  }
  agreement_->as_rank([&] {
    update_ = &body;
    within_run("step", [this] { run_or_abort(*session_, [this] { session_->run(train_); }); });
    // Now: what the program's loops still count as they end is not of this step.
    if (session_->should_stop()) ended_ = finish_run("step");
  });
  return session_ != nullptr;
}

RunReport LoopState::finish() {
  if (ended_) return *std::exchange(ended_, std::nullopt);
  check_started("finish");
  return agreement_->as_rank([this] {
    if (session_ != nullptr && !session_->stop_request())
      session_->request_stop(StopRequest{"the program", "its loop ended"});
    started_->record_changed_state();
    return finish_run("finish");
  });
}

void LoopState::check_started(const char* what) const {
  check_not_within(what);
  if (!has_run_)
    throw FailedPreconditionError(fmt::format("Loop::{} was called before Loop::start", what));
  if (!started_)
    throw FailedPreconditionError(
        fmt::format("Loop::{} was called after the run had ended or failed", what));
}

// A run that fails has ended.
void LoopState::within_run(const char* function, const std::function<void()>& call) {
  const Within within(within_, function);
  try {
    with_advice({.options = options_.restore, .graph = graph_}, call);
  } catch (...) {
    const std::exception_ptr error = caught();
    session_ = nullptr;
    started_.reset();
    std::rethrow_exception(error);
  }
}

void LoopState::start_run(const char* function, const LoopBody* compute, const LoopBody* update) {
  has_run_ = true;
  rehearsal_is_due_ = options_.debug.rehearsal_steps > 0;
  if (!options_.checkpoint.dir.empty() && tracked_names().empty())
    log_warning(
        "Loop: nothing is tracked: a run that resumes continues from its step with "
        "everything else as the program starts it; see Loop::track");
  step_to_save_.reset();
  add_epoch_value();
  compute_ = compute;
  update_ = update;
  train_ = add_step();
  TrainingRun run = training_run();
  run.hooks.insert(run.hooks.begin(), std::make_shared<OwnHook>(*this, train_));
  within_run(function, [&] {
    started_ = std::make_unique<StartedRun>(std::move(run));
    session_ = started_->session();
    if (session_ != nullptr && session_->was_finished())
      log_info(
          "the run was finished before: to train on, set a higher last step, or "
          ".ending.continue_finished if it ended otherwise");
  });
}

RunReport LoopState::finish_run(const char* function) {
  RunReport report;
  within_run(function, [&] { report = started_->finish(); });
  session_ = nullptr;
  started_.reset();
  step_to_save_ = report.last_step;
  report.skipped_steps = skipped_steps_;
  if (const EpochProgress epochs = tracked_epochs(graph_)) report.epochs = epochs();
  report.resumed_from.reset();  // Unless the step was among the restored values.
  if (report.restore && std::ranges::count(report.restore->restored, global_step_.name()) > 0)
    report.resumed_from = report.first_step;
  return report;
}

}  // namespace crochet::inline v0::internal
