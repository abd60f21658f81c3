// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/internal/run_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/engines/local/internal/session.h"

namespace crochet::local::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

class RunTraceTest : public testing::Test {
 protected:
  RunTraceTest() {
    first_ = graph_.value("first", [] { return Tensor::scalar<int64_t>(1); });
    second_ = graph_.add({.name = "second",
                          .inputs = {first_},
                          .num_outputs = 1,
                          .kernel = [](KernelContext& context) {
                            context.set_output(0, Tensor::zeros<float>({10}));
                          }})[0];
  }

  // Adds an operation that is busy for more than a millisecond.
  Output add_slow_operation() {
    return graph_.value("slow", [] {
      const auto start = Clock::real().now();
      while (Clock::real().now() - start < std::chrono::milliseconds(2)) {
      }
      return Tensor::scalar(1.0f);
    });
  }

  Graph graph_;
  Output first_, second_;
};

TEST_F(RunTraceTest, TimesTheOperationsThatRan) {
  RunMetadata metadata;
  graph_.new_session("")->run(second_, {}, {.trace_level = TraceLevel::kFull}, &metadata);
  ASSERT_EQ(metadata.operations.size(), 2);
  const OperationTiming& first = metadata.operations[0];
  const OperationTiming& second = metadata.operations[1];
  EXPECT_EQ(first.name, "first");
  EXPECT_EQ(second.name, "second");
  EXPECT_THAT(second.inputs, ElementsAre("first"));
  EXPECT_EQ(second.device, "/local");
  EXPECT_EQ(second.thread, first.thread);
  EXPECT_EQ(second.output_bytes, 40);
  EXPECT_GE(first.duration.count(), 0);
  EXPECT_GE(second.start, first.start + first.duration);
  EXPECT_GT(metadata.start_time, 1.7e9);
}

TEST_F(RunTraceTest, RecordsNothingUnlessAsked) {
  RunMetadata metadata{.start_time = 5, .operations = {{.name = "of the last run"}}};
  graph_.new_session("")->run(second_, {}, {}, &metadata);
  EXPECT_THAT(metadata.operations, IsEmpty());
  EXPECT_EQ(metadata.start_time, 0);
}

TEST_F(RunTraceTest, StartsNoOperationAfterTheDeadline) {
  const Output slow = add_slow_operation();
  const Output late = graph_.value("late", [] { return Tensor::scalar(1.0f); }, {slow});
  const auto session = graph_.new_session("");
  EXPECT_THAT(
      [&] {
        session->run({slow, late}, {}, {.timeout_in_ms = 1});
      },
      ThrowsMessage<DeadlineExceededError>(HasSubstr("before \"late\"")));
  EXPECT_NO_THROW(session->run({slow, late}, {}, {.timeout_in_ms = 600'000}));
}

}  // namespace
}  // namespace crochet::local::internal
