// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/internal/c_api.h"

namespace crochet::tensorflow::internal {
namespace {

using testing::ThrowsMessage;

TEST(TensorFlowStatusTest, IsOkInitially) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_NO_THROW(status.check("nothing"));
}

TEST(TensorFlowStatusTest, ThrowsTheClassOfEachCode) {
  for (int number = 1; number <= 16; ++number) {
    Status status;
    TF_SetStatus(status.get(), static_cast<TF_Code>(number), "why");
    try {
      status.check("what");
      FAIL() << "no error for code " << number;
    } catch (const Error& error) {
      EXPECT_EQ(static_cast<int>(error.code()), number);
      EXPECT_STREQ(error.what(), "what: why");
    }
  }
}

TEST(TensorFlowStatusTest, ThrowsClassesThatCanBeCaught) {
  Status status;
  TF_SetStatus(status.get(), TF_ABORTED, "gone");
  EXPECT_THAT([&] { status.check("run"); }, ThrowsMessage<AbortedError>("run: gone"));
}

TEST(TensorFlowStatusTest, MapsUnknownCodesToUnknown) {
  Status status;
  TF_SetStatus(status.get(), static_cast<TF_Code>(77), "odd");
  EXPECT_THROW(status.check("run"), UnknownError);
}

// What TensorFlow 2.21 said when its transport had sent a request twice.
TEST(TensorFlowStatusTest, AMemberThatIsLostIsNotACancellation) {
  Status status;
  TF_SetStatus(status.get(), TF_CANCELLED,
               "Graph execution error:\n\n=====================\n"
               "CANCELLED: From /job:worker/replica:0/task:0:\nRecvFromRemoteAsync is cancelled.\n"
               "\t [[{{node model/logits/add/ReadVariableOp_S109}}]]\n"
               "ABORTED: From /job:ps/replica:0/task:0:\n"
               "The same RunGraph (Worker) request was received twice.\n=====================\n");
  EXPECT_THROW(status.check("run"), AbortedError);
  TF_SetStatus(status.get(), TF_CANCELLED, "UNAVAILABLE: From /job:ps/replica:0/task:0:\nclosed");
  EXPECT_THROW(status.check("run"), UnavailableError);
  TF_SetStatus(status.get(), TF_CANCELLED, "From /job:ps/replica:0/task:0:\nthe queue is closed");
  EXPECT_THROW(status.check("run"), CancelledError);
}

TEST(TensorFlowStatusTest, NamesTheOperation) {
  Status status;
  TF_SetStatus(status.get(), TF_INVALID_ARGUMENT, "wrong sizes\\n\\t [[{{node a/MatMul}}]]");
  EXPECT_THAT([&] { status.check("run"); },
              ThrowsMessage<InvalidArgumentError>(
                  "run: operation \"a/MatMul\": wrong sizes\\n\\t [[{{node a/MatMul}}]]"));
}

TEST(TensorFlowStatusTest, FindsNoOperationIfNoneIsNamed) {
  EXPECT_EQ(failed_operation(""), "");
  EXPECT_EQ(failed_operation("{{node "), "");
  EXPECT_EQ(failed_operation("{{node a}"), "");
  EXPECT_EQ(failed_operation("{{node a}} {{node b}}"), "a");
}

}  // namespace
}  // namespace crochet::tensorflow::internal
