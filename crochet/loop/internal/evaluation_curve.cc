// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/internal/evaluation_curve.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/internal/found_checkpoint.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/file_system.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/summary/internal/metric_lines.h"

namespace crochet::inline v0::internal {
namespace {

constexpr const char* kTime = kCheckpointTime;

int64_t step_of(const std::string& prefix) { return step_of_prefix(base_name(prefix)).value_or(0); }

std::vector<Scalar> scalars_of(const Metrics& metrics, bool with_time) {
  std::vector<Scalar> scalars;
  for (const auto& [tag, value] : metrics)
    if (with_time || tag != kTime) scalars.push_back({tag, value});
  return scalars;
}

}  // namespace

EvaluationCurve::EvaluationCurve(std::string directory, FileSystem& files, Clock& clock)
    : directory_(std::move(directory)),
      files_(files),
      writer_(SummaryWriter::for_directory(directory_, files, clock)) {
  read();
  lock();
}

void EvaluationCurve::read() {
  points_ = read_metric_lines(files_, directory_);
  const auto is_of_another = [](const auto& point) { return !point.second.contains(kTime); };
  if (points_.empty() ? event_files(files_, directory_).empty()
                      : std::ranges::none_of(points_, is_of_another))
    return;
  throw InvalidArgumentError(fmt::format(
      "eval_dir {} has the curves of another program, whose restarts would withdraw those of this "
      "evaluator, and the other way round: expected a directory of its own, such as {}",
      directory_, join_path(directory_, "eval")));
}

void EvaluationCurve::lock() {
  try {
    lock_.emplace(files_, directory_);
  } catch (const FailedPreconditionError& error) {
    throw FailedPreconditionError(fmt::format(
        "another evaluator may be writing its curves: {}; give each its own eval_dir, such as "
        "{}-2",
        error.what(), directory_));
  } catch (const Error& error) {  // The curves of one evaluator need no lock.
    log_warning(fmt::format("eval_dir is used without a lock: {}", error.what()));
  }
}

double EvaluationCurve::time_of(const std::string& prefix) const {
  return look_at_checkpoint(files_, prefix).unix_time;
}

std::optional<Metrics> EvaluationCurve::find(const std::string& prefix) const {
  const auto found = points_.find(step_of(prefix));
  if (found == points_.end() || found->second.at(kTime) != time_of(prefix)) return std::nullopt;
  Metrics metrics = found->second;
  metrics.erase(kTime);
  return metrics;
}

bool EvaluationCurve::is_lost(int64_t step, const std::string& newer, double time_of_newer) const {
  const double time = points_.at(step).at(kTime);
  if (time >= time_of_newer) return false;
  const std::string prefix = fmt::format("{}-{}", newer.substr(0, newer.rfind('-')), step);
  return !checkpoint_exists(files_, prefix) || time_of(prefix) != time;
}

void EvaluationCurve::withdraw_lost(const std::string& prefix, double time) {
  std::erase_if(points_, [&, step = step_of(prefix)](const auto& point) {
    return point.first > step && is_lost(point.first, prefix, time);
  });
}

bool EvaluationCurve::is_after_all(int64_t step, const Metrics& metrics) const {
  return std::all_of(points_.lower_bound(step), points_.end(), [&](const auto& point) {
    return std::ranges::none_of(metrics, [&](const auto& metric) {
      return metric.first != kTime && point.second.contains(metric.first);
    });
  });
}

void EvaluationCurve::add(const std::string& prefix, double time, Metrics metrics) {
  const int64_t step = step_of(prefix);
  metrics[kTime] = time;
  const size_t num_points = points_.size();
  withdraw_lost(prefix, time);
  bool withdraws = points_.size() != num_points;
  if (const auto old = points_.find(step); old != points_.end() && old->second.at(kTime) != time) {
    points_.erase(old);
    withdraws = true;
  }
  const bool continues = !withdraws && is_after_all(step, metrics);
  Metrics& point = points_[step];
  if (continues) writer_->add_scalars(step, scalars_of(metrics, false), scalars_of(metrics, true));
  metrics.merge(Metrics(point));  // Other metrics of the same checkpoint stay.
  const bool is_known = point == metrics;
  point = std::move(metrics);
  if (!continues && (withdraws || !is_known)) write_from(step);
  writer_->flush();
}

void EvaluationCurve::write_from(int64_t step) {
  std::vector<StepScalars> points;
  for (auto point = points_.lower_bound(step); point != points_.end(); ++point)
    points.push_back({.step = point->first,
                      .in_events = scalars_of(point->second, false),
                      .in_json_lines = scalars_of(point->second, true)});
  writer_->replace_from(step, points);
}

}  // namespace crochet::inline v0::internal
