// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/evaluation_hook.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/ranks/internal/run_agreement.h"
#include "crochet/session/internal/held_generators.h"
#include "crochet/summary/internal/metric_lines.h"
#include "crochet/training/internal/time_ledger.h"

namespace crochet::inline v0 {

EvaluationHook::EvaluationHook(EvaluationHookOptions options)
    : internal::PeriodicHook(Fetches::List{}, {.every_steps = options.every_n_steps,
                                               .every_secs = options.every_n_secs,
                                               .clock = options.clock,
                                               .owner = "EvaluationHook",
                                               .steps_option = "every_n_steps",
                                               .secs_option = "every_n_secs"}),
      options_(std::move(options)),
      writer_(options_.summary_writer),
      newest_(std::make_shared<Newest>()) {
  if (!options_.evaluate) throw InvalidArgumentError("EvaluationHook: evaluate is not set");
  const FileSystem& files = FileSystem::or_posix(options_.files);
  options_.output_dir = files.fixed_path(options_.output_dir);
}

MetricSource EvaluationHook::metric(std::string name) const {
  const auto newest = [newest = newest_, name]() -> std::optional<MetricPoint> {
    const auto found = newest->metrics.find(name);
    if (!newest->step || found == newest->metrics.end()) return std::nullopt;
    return MetricPoint{*newest->step, found->second};
  };
  return {.name = name, .newest = newest};
}

void EvaluationHook::begin(Graph& graph) {
  internal::PeriodicHook::begin(graph);
  agreement_ = internal::agreement_of(graph);
  if (!agreement_->is_alone() && options_.every_n_secs)
    throw InvalidArgumentError(
        fmt::format("EvaluationHook: every_n_secs is {}, in a group of {} ranks, whose clocks "
                    "differ: expected every_n_steps",
                    *options_.every_n_secs, agreement_->group()->size()));
  if (!agreement_->is_chief()) {
    writer_.reset();
    return;
  }
  if (!writer_ && !options_.output_dir.empty())
    writer_ = SummaryWriter::for_directory(
        options_.output_dir, FileSystem::or_posix(options_.files), Clock::or_real(options_.clock));
}

void EvaluationHook::after_create_session(Session& session, Coordinator& coordinator) {
  internal::PeriodicHook::after_create_session(session, coordinator);
  const int64_t step = read_global_step(session);
  // Metrics of lost steps are no longer valid.
  if (newest_->step.value_or(step) > step) *newest_ = {};
  if (writer_) writer_->start_session(step);
  is_due_at_start_ = options_.at_start && newest_->step != step;
}

// Not earlier: a run that is finished makes no step, and is not evaluated again.
std::optional<SessionRunArgs> EvaluationHook::before_run(SessionRunContext& context) {
  if (std::exchange(is_due_at_start_, false))
    evaluate(context.session(), read_global_step(context.session()));
  return internal::PeriodicHook::before_run(context);
}

void EvaluationHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  made_a_step_ = true;
  if (writer_) writer_->write_start();
  internal::PeriodicHook::after_run(context, values);
}

void EvaluationHook::look(int64_t step, const FetchValues&, SessionRunContext& context) {
  evaluate(context.session(), step);
}

void EvaluationHook::end(Session& session) {
  if (!options_.at_end) return;
  // All ranks evaluate, or none does.
  if (agreement_->is_alone() ? left_out_for_signal("the last step is not evaluated")
                             : agreement_->ending_signal() != 0)
    return;
  const int64_t step = read_global_step(session);
  if (newest_->step == step) return;
  // Of a run that was finished already. Ranks do not know what the chief's curve has.
  if (!made_a_step_ && (!agreement_->is_alone() || !writer_ || read_from_curve(step))) return;
  evaluate(session, step);
}

bool EvaluationHook::read_from_curve(int64_t step) {
  FileSystem& files = FileSystem::or_posix(options_.files);
  const auto points = internal::read_metric_lines(files, writer_->directory());
  const auto point = points.find(step);
  if (point == points.end()) return false;
  Metrics metrics;
  for (const auto& [tag, value] : point->second)
    if (tag.starts_with(options_.tag_prefix))
      metrics[tag.substr(options_.tag_prefix.size())] = value;
  if (metrics.empty()) return false;
  *newest_ = {.step = step, .metrics = std::move(metrics)};
  return true;
}

void EvaluationHook::evaluate(Session& session, int64_t step) {
  const internal::TimeSpan span(internal::TimeLedger::of(session.graph()),
                                internal::TimeKind::kEvaluation);
  const internal::HeldGenerators held(session.graph());
  Metrics metrics =
      internal::evaluated("EvaluationHook: ", [&] { return options_.evaluate(session); });
  *newest_ = {.step = step, .metrics = std::move(metrics)};
  if (!agreement_->is_chief()) return;
  internal::report_metrics(step, newest_->metrics, options_.tag_prefix, writer_.get());
}

Metrics internal::evaluated(const char* who, const std::function<Metrics()>& evaluate) {
  try {
    return evaluate();
  } catch (...) {
    if (!is_end_of_input(std::current_exception())) throw;
    std::throw_with_nested(FailedPreconditionError(
        fmt::format("{}the evaluation threw at the end of its data ({}): it must return instead",
                    who, describe(std::current_exception()))));
  }
}

void internal::report_metrics(int64_t step, const Metrics& metrics, const std::string& tag_prefix,
                              SummaryWriter* writer) {
  std::string text;
  std::vector<Scalar> scalars;
  for (const auto& [name, value] : metrics) {
    text += fmt::format("{}{} = {:g}", text.empty() ? "" : ", ", name, value);
    scalars.push_back({.tag = tag_prefix + name, .value = value});
  }
  log_info(fmt::format("evaluation of step {}: {}", step, text));
  if (writer != nullptr) writer->add_scalars(step, scalars);
}

}  // namespace crochet::inline v0
