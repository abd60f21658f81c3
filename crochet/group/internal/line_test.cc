// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/group/internal/line.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/group/internal/message_bytes.h"
#include "tests/support/forked_child.h"
#include "tests/support/wait_until.h"

namespace crochet::internal {
namespace {

struct Pair {
  Socket near;
  Socket far;
};

Pair connected() {
  Socket listener = *listen_on(0);
  WaitLimit limit(Clock::real(), 30);
  Pair pair;
  pair.near = connect_to({.host = "127.0.0.1", .port = port_of(listener)}, limit);
  wait_until("a connection", [&] { return static_cast<bool>(pair.far = accept_from(listener)); });
  return pair;
}

std::string next_message(Line& line, Line& sender) {
  std::optional<std::string> message;
  wait_until("a message", [&] {
    sender.flush();
    message = line.take();
    return message.has_value();
  });
  return *message;
}

TEST(LineTest, BringsMessagesWhole) {
  Pair pair = connected();
  Line near(std::move(pair.near));
  Line far(std::move(pair.far));
  EXPECT_EQ(far.take(), std::nullopt);
  const std::string large(size_t{9} << 20, 'x');
  near.send("");
  near.send("one");
  near.send(large);
  EXPECT_EQ(next_message(far, near), "");
  EXPECT_EQ(next_message(far, near), "one");
  EXPECT_TRUE(next_message(far, near) == large);
  EXPECT_TRUE(far.is_open());
}

TEST(LineTest, EndsAfterItsLastMessage) {
  Pair pair = connected();
  Line far(std::move(pair.far));
  {
    Line near(std::move(pair.near));
    near.send("last");
  }
  EXPECT_EQ(next_message(far, far), "last");
  wait_until("the end", [&] { return !far.take() && !far.is_open(); });
}

TEST(LineTest, RefusesWhatAStrangerSends) {
  Pair pair = connected();
  Line far(std::move(pair.far));
  far.accept_up_to(1000);
  pair.near.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_THROW(wait_until("a message", [&] { return far.take().has_value(); }), UnavailableError);
}

// A child that outlives its parent would keep the line open.
TEST(LineTest, ForkedChildrenHaveNoLine) {
  Pair pair = connected();
  Line near(std::move(pair.near));
  EXPECT_EQ(run_in_child([&] {
              try {
                near.send("from the child");
              } catch (const UnavailableError&) {
                return 0;
              }
              return 1;
            }),
            0);
  Line far(std::move(pair.far));
  near.send("from the parent");
  EXPECT_EQ(next_message(far, near), "from the parent");
}

}  // namespace
}  // namespace crochet::internal
