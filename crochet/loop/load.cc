// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/load.h"

#include "crochet/base/error.h"
#include "crochet/loop/internal/load_values.h"
#include "crochet/loop/internal/restore_advice.h"
#include "crochet/loop/internal/restoring.h"
#include "crochet/tracking/internal/restore_purpose.h"

namespace crochet::inline v0 {

RestoreReport load(const RestoreOptions& options, std::initializer_list<TrackedValue> values,
                   FileSystem* files) {
  if (values.size() == 0) throw InvalidArgumentError("load: no values are listed");
  return internal::load_values(
      options, internal::SurplusValues::kIgnored,
      [&](Tracker& tracker) {
        for (const TrackedValue& value : values) value.track(tracker);
      },
      files);
}

namespace internal {

RestoreReport load_values(const RestoreOptions& options, SurplusValues surplus,
                          const std::function<void(Tracker& tracker)>& track, FileSystem* files) {
  if (options.from.empty()) throw InvalidArgumentError("load: the path is empty");
  local::Graph graph;
  RestorePurpose::of(graph)->is_same_training = false;
  Tracker tracker(graph, "");
  track(tracker);
  RestoreOptions rules = options;
  if (surplus == SurplusValues::kIgnored) rules.allow_surplus = true;
  RestoreReport report;
  with_advice({.options = options, .graph = graph, .is_load = true},
              [&] { report = restore_from(*graph.new_session(""), rules, files); });
  return report;
}

}  // namespace internal
}  // namespace crochet::inline v0
