// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/testing/scripted_session.h"

namespace crochet {
namespace {

TEST(RegisteredSaverTest, IsTheRegisteredSaver) {
  ScriptedGraph graph;
  EXPECT_EQ(registered_saver(graph), nullptr);
  const auto saver = std::make_shared<Saver>();
  register_saver(graph, saver);
  EXPECT_EQ(registered_saver(graph), saver);
}

TEST(RegisteredSaverTest, RejectsSeveralSavers) {
  ScriptedGraph graph;
  register_saver(graph, std::make_shared<Saver>());
  register_saver(graph, std::make_shared<Saver>());
  EXPECT_THAT([&] { registered_saver(graph); },
              testing::ThrowsMessage<FailedPreconditionError>(
                  testing::HasSubstr("More than one item: the graph has 2 savers")));
}

TEST(RegisteredSaverTest, RejectsNull) {
  ScriptedGraph graph;
  EXPECT_THROW(register_saver(graph, nullptr), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
