// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/hooks/evaluation_hook.h"
#include "crochet/io/file_system.h"
#include "crochet/loop/evaluator.h"
#include "crochet/loop/internal/evaluation_curve.h"

namespace crochet::inline v0 {
namespace {

// Restores one checkpoint, and sets a flag if it cannot be read.
class CheckpointSessionCreator final : public SessionCreator {
 public:
  CheckpointSessionCreator(const EvaluateRepeatedlyOptions& options,
                           std::shared_ptr<Scaffold> scaffold, std::string prefix, bool& is_lost)
      : graph_(options.graph),
        master_(options.master),
        scaffold_(std::move(scaffold)),
        prefix_(std::move(prefix)),
        is_lost_(is_lost) {}

  Graph& graph() const override { return graph_; }

  CreatedSession create_session() override {
    scaffold_->finalize(graph_);
    CreatedSession created{graph_.new_session(master_)};
    try {
      created.restored = scaffold_->saver->restore(*created.session, prefix_);
    } catch (const DataLossError&) {
      is_lost_ = true;
      throw;
    } catch (const Error&) {
      // If the checkpoint still exists, a missing name is an error of the graph.
      is_lost_ = !checkpoint_exists(scaffold_->saver->files(), prefix_);
      throw;
    }
    return created;
  }

 private:
  Graph& graph_;
  const std::string master_;
  const std::shared_ptr<Scaffold> scaffold_;
  const std::string prefix_;
  bool& is_lost_;
};

class CheckpointEvaluator {
 public:
  CheckpointEvaluator(const EvaluateRepeatedlyOptions& options,
                      const std::function<Metrics(MonitoredSession&)>& evaluate)
      : options_(options),
        evaluation_(options.evaluation),
        evaluate_(evaluate),
        files_(FileSystem::or_posix(checkpoints().files)),
        clock_(Clock::or_real(checkpoints().clock)),
        scaffold_(options.scaffold ? options.scaffold : std::make_shared<Scaffold>()),
        eval_dir_(evaluation_.eval_dir.empty() ? join_path(evaluation_.checkpoint_dir, "eval")
                                               : evaluation_.eval_dir),
        curve_(eval_dir_, files_, clock_) {
    if (!scaffold_->saver)
      scaffold_->saver = std::make_shared<Saver>(SaverOptions{.files = &files_, .clock = &clock_},
                                                 RestoreOptions{.allow_surplus = true});
  }

  EvaluationReport run() {
    CheckpointsIteratorOptions unknown_ones = checkpoints();
    unknown_ones.is_done = [this](const std::string& prefix) {
      return (checkpoints().is_done && checkpoints().is_done(prefix)) || is_known(prefix);
    };
    CheckpointsIterator iterator(evaluation_.checkpoint_dir, std::move(unknown_ones));
    while (!is_done()) {
      const auto prefix = iterator.next();
      if (!prefix) break;
      const double time = curve_.time_of(*prefix);
      if (auto metrics = evaluate(*prefix)) note(*prefix, time, *std::move(metrics));
    }
    if (!report_.last_step) std::tie(report_.last_step, report_.metrics) = known_;
    return std::move(report_);
  }

 private:
  const CheckpointsIteratorOptions& checkpoints() const { return evaluation_.checkpoints; }

  bool is_done() const {
    const std::optional<int64_t> most = evaluation_.max_number_of_evaluations;
    if (most && report_.num_evaluations >= *most) return true;
    const std::optional<int64_t> final_step = checkpoints().final_step;
    return final_step && report_.last_step && *report_.last_step >= *final_step;
  }

  int64_t step_of(const std::string& prefix) const {
    return internal::parse_step(base_name(prefix), checkpoints().checkpoint_basename.str())
        .value_or(0);
  }

  // Returns nothing if the checkpoint cannot be read.
  std::optional<Metrics> evaluate(const std::string& prefix) {
    bool is_lost = false;
    std::unique_ptr<MonitoredSession> session;
    try {
      session = std::make_unique<MonitoredSession>(
          std::make_unique<CheckpointSessionCreator>(options_, scaffold_, prefix, is_lost),
          options_.hooks, MonitoredSessionOptions{.max_recoveries = 3, .clock = &clock_});
    } catch (const Error& error) {
      if (!is_lost) throw;
      log_warning(fmt::format("checkpoint {} cannot be evaluated: {}", prefix, error.what()));
      return std::nullopt;
    }
    Metrics metrics;
    run_in_scope(*session,
                 [&] { metrics = internal::evaluated("", [&] { return evaluate_(*session); }); });
    return metrics;
  }

  // True for a checkpoint that an earlier evaluator has evaluated.
  bool is_known(const std::string& prefix) {
    const std::optional<Metrics> metrics = curve_.find(prefix);
    if (!metrics) return false;
    if (!known_.first) log_known(prefix, *metrics);
    if (known_.first.value_or(-1) < step_of(prefix)) known_ = {step_of(prefix), *metrics};
    return true;
  }

  void log_known(const std::string& prefix, const Metrics& metrics) const {
    std::vector<std::string> names;
    for (const auto& [name, value] : metrics) names.push_back(name);
    log_info(fmt::format(
        "{} is not evaluated again: {} has what an earlier evaluator measured ({}); to evaluate it "
        "for other metrics, use another eval_dir",
        prefix, eval_dir_, fmt::join(names, ", ")));
  }

  void note(const std::string& prefix, double time, Metrics metrics) {
    const int64_t step = step_of(prefix);
    internal::report_metrics(step, metrics, "", nullptr);
    curve_.add(prefix, time, metrics);
    ++report_.num_evaluations;
    report_.last_step = step;
    report_.metrics = std::move(metrics);
  }

  const EvaluateRepeatedlyOptions& options_;
  const EvaluatorOptions& evaluation_;
  const std::function<Metrics(MonitoredSession&)>& evaluate_;
  FileSystem& files_;
  Clock& clock_;
  const std::shared_ptr<Scaffold> scaffold_;
  const std::string eval_dir_;
  internal::EvaluationCurve curve_;
  // The last step that an earlier evaluator has evaluated, and its metrics.
  std::pair<std::optional<int64_t>, Metrics> known_;
  EvaluationReport report_;
};

}  // namespace

EvaluationReport evaluate_repeatedly(
    const EvaluateRepeatedlyOptions& options,
    const std::function<Metrics(MonitoredSession& session)>& evaluate) {
  if (options.evaluation.checkpoint_dir.empty())
    throw InvalidArgumentError("evaluate_repeatedly: checkpoint_dir is not set");
  if (!evaluate) throw InvalidArgumentError("evaluate_repeatedly: evaluate is not set");
  return CheckpointEvaluator(options, evaluate).run();
}

}  // namespace crochet::inline v0
