// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/saver_settings.h"

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/saver/internal/stored_names.h"

namespace crochet::inline v0::internal {

SaverOptions checked(SaverOptions options) {
  check_at_least("max_to_keep", options.max_to_keep, 0);
  check_at_least("keep_checkpoint_every_n_hours", options.keep_checkpoint_every_n_hours, 0);
  check_at_least("keep_checkpoint_every_n_steps", options.keep_checkpoint_every_n_steps, 0);
  if (options.keep_best) keep_best(*options.keep_best);  // Throws.
  if (options.num_shards < 1 || options.num_shards > kMaxShards)
    throw InvalidArgumentError(
        fmt::format("num_shards is {}, expected 1 to {}", options.num_shards, kMaxShards));
  if (options.defer_build && options.var_list)
    throw InvalidArgumentError("defer_build and var_list exclude each other");
  if (options.format == CheckpointFormat::kTorch)
    throw InvalidArgumentError("format is torch, whose files can be read, not written");
  if (options.writer == StateWriter::kGraph &&
      (options.var_list || options.filter || options.num_shards != 1 ||
       options.format != CheckpointFormat::kTensorBundle))
    throw InvalidArgumentError(
        "StateWriter::kGraph does not support var_list, filter, num_shards, or a format "
        "other than the tensor bundle");
  return options;
}

RestoreOptions checked(RestoreOptions options) {
  check_stored_names(options.rename);
  if (!options.from.empty() || !options.only.is_all())
    throw InvalidArgumentError(
        fmt::format("{} has no effect in a Saver, which restores what restore() is given",
                    options.from.empty() ? "RestoreOptions::only" : "RestoreOptions::from"));
  return options;
}

std::vector<RetentionPolicy> policies_of(const SaverOptions& options) {
  if (options.max_to_keep == 0) return {};
  std::vector<RetentionPolicy> policies = {keep_newest(options.max_to_keep)};
  if (const double hours = options.keep_checkpoint_every_n_hours.value_or(0); hours > 0)
    policies.push_back(keep_every_hours(hours));
  if (const int64_t steps = options.keep_checkpoint_every_n_steps.value_or(0); steps > 0)
    policies.push_back(keep_every_steps(steps));
  if (options.keep_best) policies.push_back(keep_best(*options.keep_best));
  policies.insert(policies.end(), options.retention.begin(), options.retention.end());
  return policies;
}

}  // namespace crochet::inline v0::internal
