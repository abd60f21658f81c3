// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <latch>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/session.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet::tensorflow {
namespace {

TEST(CallersThreadConfigTest, IsAppendedToTheBase) {
  EXPECT_EQ(callers_thread_config().serialized, "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  EXPECT_EQ(callers_thread_config("\x10\x01").serialized,
            "\x10\x01\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

// A graph that was initialised in a session with these settings.
struct CallersThreadTest : testing::Test {
  CallersThreadTest() { session = it.new_session(callers_thread_config()); }

  InitializedGraph it{"kinds"};
  std::unique_ptr<crochet::Session> session;
};

// By default other threads use several times as much time as this one.
TEST_F(CallersThreadTest, ComputesOnTheCallingThread) {
  const Fetches step = {Output(it.graph.operation("change_reference")),
                        it.graph.output("looked_up")};
  session->run(step);
  EXPECT_LT(share_of_other_threads([&] { session->run(step); }), 0.2);
}

TEST_F(CallersThreadTest, ComputesTheSame) {
  for (crochet::Session* const one : {session.get(), it.session.get()})
    for (int i = 0; i < 3; ++i) one->run(it.graph.operation("change_reference"));
  const std::vector<Variable> variables = it.graph.variables();
  const auto expected = it.session->snapshot(variables).tensors();
  const auto found = session->snapshot(variables).tensors();
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].tensor, expected[i].tensor);
}

TEST_F(CallersThreadTest, TimesOut) {
  EXPECT_THROW(session->run("dequeue", {}, {.timeout_in_ms = 20}), DeadlineExceededError);
  EXPECT_EQ(session->run("looked_up").tensor().num_elements(), 2);
}

TEST_F(CallersThreadTest, EndsARunThatHangsWhenItIsClosed) {
  std::latch begun(1);
  std::thread hanging([&] {
    begun.count_down();
    // The latter if it had not started yet.
    EXPECT_THAT([&] { session->run("dequeue"); },
                testing::AnyOf(testing::Throws<CancelledError>(),
                               testing::Throws<FailedPreconditionError>()));
  });
  begun.wait();
  session->close();
  hanging.join();
}

}  // namespace
}  // namespace crochet::tensorflow
