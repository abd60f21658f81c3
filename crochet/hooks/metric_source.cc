// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/metric_source.h"

#include "crochet/summary/read_metrics.h"

namespace crochet::inline v0 {

MetricSource metric_in_directory(const std::string& eval_dir, const std::string& name,
                                 FileSystem* files) {
  if (files == nullptr) files = &FileSystem::posix();
  const auto newest = [eval_dir = files->fixed_path(eval_dir), name,
                       files]() -> std::optional<MetricPoint> {
    const auto metrics = read_eval_metrics(*files, eval_dir);
    for (auto entry = metrics.rbegin(); entry != metrics.rend(); ++entry)
      if (const auto found = entry->second.find(name); found != entry->second.end())
        return MetricPoint{entry->first, found->second};
    return std::nullopt;
  };
  return {.name = name, .newest = newest};
}

}  // namespace crochet::inline v0
