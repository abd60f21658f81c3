// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/metric_source.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/summary/internal/json_lines_writer.h"
#include "crochet/summary/internal/metric_lines.h"

namespace crochet::inline v0 {
namespace {

constexpr const char* kSteps = "steps";
constexpr const char* kTimes = "times";

// The points of a directory, except those of lost steps. Its state is when the run went back.
class PointsInDirectory final : public Saveable {
 public:
  PointsInDirectory(std::string eval_dir, std::string name, FileSystem& files, Clock& clock)
      : eval_dir_(std::move(eval_dir)), name_(std::move(name)), files_(files), clock_(clock) {}

  std::optional<MetricPoint> newest() {
    const Points& points = read();
    for (auto point = points.rbegin(); point != points.rend(); ++point) {
      const auto& [step, timed] = *point;
      const auto found = timed.metrics.find(name_);
      if (found == timed.metrics.end() || is_lost(step, timed.time)) continue;
      return MetricPoint{step, found->second};
    }
    return std::nullopt;
  }

  void resume_at(int64_t step) {
    double time = clock_.wall_time();
    // Those that are there are lost, whatever the clock of their evaluator says.
    const Points& points = read();
    for (auto point = points.upper_bound(step); point != points.end(); ++point)
      time = std::max(time, std::nextafter(point->second.time, kInfinity));
    went_back_.erase(went_back_.lower_bound(step), went_back_.end());
    went_back_[step] = time;
  }

  TensorMap save() const override {
    std::vector<int64_t> steps;
    std::vector<double> times;
    for (const auto& [step, time] : went_back_) {
      steps.push_back(step);
      times.push_back(time);
    }
    return {{kSteps, Tensor::from(steps)}, {kTimes, Tensor::from(times)}};
  }

  void restore(const TensorMap& state) override {
    const auto steps = state.find(kSteps);
    const auto times = state.find(kTimes);
    if (state.size() != 2 || steps == state.end() || times == state.end() ||
        steps->second.dtype() != DType::kInt64 || times->second.dtype() != DType::kDouble ||
        steps->second.num_elements() != times->second.num_elements())
      throw InvalidArgumentError(
          fmt::format("the metric {} in {}: expected as many steps as times", name_, eval_dir_));
    went_back_.clear();
    const std::span<const double> all_times = times->second.flat<double>();
    for (size_t i = 0; i < all_times.size(); ++i)
      went_back_[steps->second.flat<int64_t>()[i]] = all_times[i];
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  using Points = std::map<int64_t, internal::TimedMetrics>;
  struct File {
    std::string path;
    uint64_t size;
    double modified_time;
    friend bool operator==(const File&, const File&) = default;
  };

  // The points with the times of their checkpoints, as far as these are known.
  const Points& read() {
    std::vector<File> found = find_files();
    if (read_files_ == found) return points_;
    read_files_.reset();
    points_ = internal::read_timed_metrics(files_, eval_dir_);
    for (const auto& [step, metrics] : internal::read_metric_lines(files_, eval_dir_)) {
      const auto point = points_.find(step);
      const auto time = metrics.find(internal::kCheckpointTime);
      if (point != points_.end() && time != metrics.end()) point->second.time = time->second;
    }
    read_files_ = std::move(found);
    return points_;
  }

  // The files that have points, as they are before these are read.
  std::vector<File> find_files() const {
    std::vector<std::string> paths = event_files(files_, eval_dir_);
    paths.push_back(join_path(eval_dir_, internal::kJsonLinesName));
    std::vector<File> found;
    for (std::string& path : paths) {
      try {
        const uint64_t size = files_.file_size(path);
        const double modified_time = files_.modified_time(path);
        found.push_back({std::move(path), size, modified_time});
      } catch (const NotFoundError&) {  // Not written yet, or removed meanwhile.
      }
    }
    return found;
  }

  bool is_lost(int64_t step, double time) const {
    return std::any_of(went_back_.begin(), went_back_.lower_bound(step),
                       [&](const auto& each) { return time < each.second; });
  }

  const std::string eval_dir_;
  const std::string name_;
  FileSystem& files_;                            // Not owned.
  Clock& clock_;                                 // Not owned.
  std::map<int64_t, double> went_back_;          // When, by the step that the run went back to.
  Points points_;                                // Of the files when they were last read.
  std::optional<std::vector<File>> read_files_;  // These files; unset before that.
};

}  // namespace

void internal::check_metrics(const std::string& option, const std::vector<MetricSource>& metrics) {
  std::set<std::string> names;
  for (const MetricSource& metric : metrics) {
    if (metric.name.empty()) throw InvalidArgumentError(option + " has a metric without a name");
    if (!metric.newest)
      throw InvalidArgumentError(
          fmt::format("{} has a metric \"{}\" without a source", option, metric.name));
    if (!names.insert(metric.name).second)
      throw InvalidArgumentError(
          fmt::format("{} has two metrics \"{}\": give each its own name", option, metric.name));
  }
}

MetricSource metric_in_directory(const std::string& eval_dir, const std::string& name,
                                 FileSystem* files, Clock* clock) {
  if (files == nullptr) files = &FileSystem::posix();
  if (clock == nullptr) clock = &Clock::real();
  const auto points =
      std::make_shared<PointsInDirectory>(files->fixed_path(eval_dir), name, *files, *clock);
  return {.name = name,
          .newest = [points] { return points->newest(); },
          .resume_at = [points](int64_t step) { points->resume_at(step); },
          .state = points};
}

}  // namespace crochet::inline v0
