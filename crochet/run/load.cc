// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/load.h"

#include "crochet/base/error.h"
#include "crochet/run/restore_advice.h"
#include "crochet/run/restoring.h"

namespace crochet::inline v0 {

RestoreReport load(const RestoreOptions& options, std::initializer_list<TrackedValue> values,
                   FileSystem* files) {
  if (options.from.empty()) throw InvalidArgumentError("load: the path is empty");
  if (values.size() == 0) throw InvalidArgumentError("load: no values are listed");
  local::Graph graph;
  Tracker tracker(graph, "");
  for (const TrackedValue& value : values) value.track(tracker);
  RestoreOptions lenient = options;
  lenient.allow_surplus = true;
  RestoreReport report;
  internal::with_advice({.options = options, .graph = graph, .is_load = true}, [&] {
    report = internal::restore_from(*graph.new_session(""), lenient, files);
  });
  return report;
}

}  // namespace crochet::inline v0
