// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "crochet/crochet.h"
#include "save_timeline.h"

// Calls save() between steps whenever the timeline requests it, and ends the run.
class TimelineHook : public crochet::SessionRunHook {
 public:
  explicit TimelineHook(Timeline& timeline) : timeline_(timeline) {}

  std::optional<crochet::SessionRunArgs> before_run(crochet::SessionRunContext&) final {
    timeline_.begin_step();
    return {};
  }
  void after_run(crochet::SessionRunContext& context, const crochet::SessionRunValues&) final {
    if (timeline_.is_over()) return context.request_stop("all saves are made");
    if (timeline_.save_is_due()) timeline_.add(save(context));
  }

 protected:
  virtual Timeline::Save save(crochet::SessionRunContext& context) = 0;
  size_t steps() const { return timeline_.steps(); }

 private:
  Timeline& timeline_;
};
