// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/session/session.h"

namespace crochet {
namespace {

TEST(RunOptionsTest, MergesNumbersBySize) {
  RunOptions options{.trace_level = TraceLevel::kHardware, .timeout_in_ms = 10};
  merge(options,
        {.trace_level = TraceLevel::kSoftware, .timeout_in_ms = 20, .inter_op_thread_pool = 3});
  EXPECT_EQ(options, (RunOptions{.trace_level = TraceLevel::kHardware,
                                 .timeout_in_ms = 20,
                                 .inter_op_thread_pool = 3}));
}

TEST(RunOptionsTest, MergesSwitchesByEitherAndWatchesInOrder) {
  RunOptions options{.output_partition_graphs = true, .debug_tensor_watches = {"a", "b"}};
  merge(options, {.report_tensor_allocations_upon_oom = true,
                  .debug_tensor_watches = {"a"},
                  .reset_disk_byte_usage = true});
  EXPECT_EQ(options, (RunOptions{.output_partition_graphs = true,
                                 .report_tensor_allocations_upon_oom = true,
                                 .debug_tensor_watches = {"a", "b", "a"},
                                 .reset_disk_byte_usage = true}));
}

TEST(RunOptionsTest, DefaultsAddNothing) {
  const RunOptions full{.trace_level = TraceLevel::kFull,
                        .timeout_in_ms = 1,
                        .inter_op_thread_pool = 1,
                        .output_partition_graphs = true,
                        .report_tensor_allocations_upon_oom = true,
                        .debug_tensor_watches = {"a"},
                        .reset_disk_byte_usage = true};
  RunOptions options = full;
  merge(options, {});
  EXPECT_EQ(options, full);
}

}  // namespace
}  // namespace crochet
