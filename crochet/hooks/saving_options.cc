// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/check_number.h"
#include "crochet/hooks/checkpoint_saver_hook.h"

namespace crochet::inline v0 {

void internal::check_options(const SavingOptions& options, const std::string& path) {
  check_metrics(path + ".metrics", options.metrics);
  check_at_least(path + ".deadline_secs", options.deadline_secs, 0);
}

}  // namespace crochet::inline v0
