// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "crochet/session/session.h"

namespace crochet::inline v0 {

void merge(RunOptions& options, const RunOptions& more) {
  options.trace_level = std::max(options.trace_level, more.trace_level);
  options.timeout_in_ms = std::max(options.timeout_in_ms, more.timeout_in_ms);
  options.inter_op_thread_pool = std::max(options.inter_op_thread_pool, more.inter_op_thread_pool);
  options.output_partition_graphs |= more.output_partition_graphs;
  options.report_tensor_allocations_upon_oom |= more.report_tensor_allocations_upon_oom;
  options.reset_disk_byte_usage |= more.reset_disk_byte_usage;
  options.debug_tensor_watches.insert(options.debug_tensor_watches.end(),
                                      more.debug_tensor_watches.begin(),
                                      more.debug_tensor_watches.end());
}

}  // namespace crochet::inline v0
