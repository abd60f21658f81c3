// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/metric_source.h"

#include <map>
#include <memory>
#include <utility>

#include "crochet/summary/read_metrics.h"

namespace crochet::inline v0 {
namespace {

// The points of a directory, except those of lost steps.
class PointsInDirectory {
 public:
  PointsInDirectory(std::string eval_dir, std::string name, FileSystem& files)
      : eval_dir_(std::move(eval_dir)), name_(std::move(name)), files_(files) {}

  std::optional<MetricPoint> newest() const {
    const auto points = internal::read_timed_metrics(files_, eval_dir_);
    for (auto point = points.rbegin(); point != points.rend(); ++point) {
      const auto& [step, timed] = *point;
      const auto found = timed.metrics.find(name_);
      if (found == timed.metrics.end() || is_lost(step, timed.time)) continue;
      return MetricPoint{step, found->second};
    }
    return std::nullopt;
  }

  void resume_at(int64_t step) {
    const auto points = internal::read_timed_metrics(files_, eval_dir_);
    for (auto point = points.upper_bound(step); point != points.end(); ++point)
      lost_[point->first] = point->second.time;
  }

 private:
  // A step that is made again gets another point.
  bool is_lost(int64_t step, double time) const {
    const auto lost = lost_.find(step);
    return lost != lost_.end() && lost->second == time;
  }

  const std::string eval_dir_;
  const std::string name_;
  FileSystem& files_;               // Not owned.
  std::map<int64_t, double> lost_;  // When each was written, by step.
};

}  // namespace

MetricSource metric_in_directory(const std::string& eval_dir, const std::string& name,
                                 FileSystem* files) {
  if (files == nullptr) files = &FileSystem::posix();
  const auto points =
      std::make_shared<PointsInDirectory>(files->fixed_path(eval_dir), name, *files);
  return {.name = name,
          .newest = [points] { return points->newest(); },
          .resume_at = [points](int64_t step) { points->resume_at(step); }};
}

}  // namespace crochet::inline v0
