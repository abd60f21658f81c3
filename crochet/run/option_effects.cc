// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/option_effects.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crochet/base/check_number.h"
#include "crochet/base/error.h"

namespace crochet::inline v0::internal {
namespace {

// The names of options that are set, with their values where they are numbers.
class Options {
 public:
  void add(const char* name, bool is_set) {
    if (is_set) names_.emplace_back(name);
  }
  // 0 switches an interval off.
  template <typename Number>
  void add(const char* name, const std::optional<Number>& value) {
    if (value && *value != 0) names_.push_back(fmt::format("{} = {}", name, *value));
  }

  void refuse_without(const char* directory) const {
    if (names_.empty()) return;
    const std::vector<std::string> all_but_last(names_.begin(), names_.end() - 1);
    throw InvalidArgumentError(fmt::format("LoopOptions: {}{}{} {} no effect without {}",
                                           fmt::join(all_but_last, ", "),
                                           all_but_last.empty() ? "" : " and ", names_.back(),
                                           all_but_last.empty() ? "has" : "have", directory));
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace

void check_effects(const LoopOptions& options) {
  check_at_least("LoopOptions: rehearsal_steps", options.rehearsal_steps, 0);
  if (options.rehearsal_steps > 0 && options.group)
    throw InvalidArgumentError(
        "LoopOptions: rehearsal_steps: not with a group: `crochet rehearse` rehearses one");
  if (options.checkpoint_dir.empty()) {
    const LoopOptions defaults;
    Options unused;
    unused.add("checkpoint_basename", options.checkpoint_basename != defaults.checkpoint_basename);
    unused.add("checkpoint_format", options.checkpoint_format != defaults.checkpoint_format);
    unused.add("save_checkpoint_steps", options.save_checkpoint_steps);
    unused.add("save_checkpoint_secs", options.save_checkpoint_secs);
    unused.add("saving_listeners", !options.saving_listeners.empty());
    unused.add("checkpoint_metrics", !options.checkpoint_metrics.empty());
    unused.add("fallback_dir", !options.fallback_dir.empty());
    unused.add("lock_directory", !options.lock_directory);
    unused.add("deadline_secs", options.deadline_secs);
    if (options.max_to_keep != defaults.max_to_keep)
      unused.add("max_to_keep", std::optional(options.max_to_keep));
    unused.add("keep_checkpoint_every_n_hours", options.keep_checkpoint_every_n_hours);
    unused.add("keep_checkpoint_every_n_steps", options.keep_checkpoint_every_n_steps);
    unused.add("keep_best", options.keep_best.has_value());
    unused.add("rehearsal_steps", std::optional(options.rehearsal_steps));
    unused.add("restore.which", options.restore.from.empty() && !options.restore.which.is_newest());
    unused.refuse_without("checkpoint_dir");
  }
  if (options.checkpoint_dir.empty() && options.summary_dir.empty()) {
    Options unused;
    unused.add("save_summaries_steps", options.save_summaries_steps);
    unused.add("save_summaries_secs", options.save_summaries_secs);
    unused.refuse_without("checkpoint_dir or summary_dir");
  }
}

}  // namespace crochet::inline v0::internal
