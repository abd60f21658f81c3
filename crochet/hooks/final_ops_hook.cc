// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/final_ops_hook.h"

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"

namespace crochet::inline v0 {

FinalOpsHook::FinalOpsHook(Fetches final_ops, Feeds final_ops_feed_dict)
    : final_ops_(std::move(final_ops)), feeds_(std::move(final_ops_feed_dict)) {}

void FinalOpsHook::begin(Graph& graph) { final_ops_ = graph.resolve(final_ops_); }

void FinalOpsHook::end(Session& session) {
  if (final_ops_.empty()) return;
  if (left_out_for_signal("the final ops are not evaluated")) return;
  try {
    values_ = session.run(final_ops_, feeds_);
  } catch (...) {
    if (is_end_of_input(std::current_exception()))
      log_warning(fmt::format(
          "the final ops met the end of the input ({}): they have a dependency back to some "
          "input source, which they must not have",
          describe(std::current_exception())));
    throw;
  }
}

}  // namespace crochet::inline v0
