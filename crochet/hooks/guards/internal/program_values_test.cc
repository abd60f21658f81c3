// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/internal/program_values.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/testing/scripted_session.h"

namespace crochet::internal {
namespace {

using testing::ElementsAre;

// Records in which order things are written.
class RecordingSession final : public Session {
 public:
  RecordingSession(std::unique_ptr<Session> session, std::vector<std::string>& calls)
      : session_(std::move(session)), calls_(calls) {}

  Graph& graph() const override { return session_->graph(); }
  const std::string& target() const override { return session_->target(); }
  void run_into(std::span<const Output> fetches, const Feeds& feeds, std::span<Tensor> results,
                const RunOptions& options, RunMetadata* metadata) override {
    session_->run_into(fetches, feeds, results, options, metadata);
  }
  Snapshot snapshot(std::span<const Variable> variables) override {
    return session_->snapshot(variables);
  }
  void assign(std::span<const Assignment> assignments) override {
    calls_.push_back("assign " + std::to_string(assignments.size()));
    session_->assign(assignments);
  }
  void close() override { session_->close(); }

 private:
  const std::unique_ptr<Session> session_;
  std::vector<std::string>& calls_;
};

class ProgramValuesTest : public testing::Test {
 protected:
  void add_object(const std::string& name, int64_t& value, bool is_hooks) {
    graph_.add_saveable({name,
                         make_saveable(
                             [&value] {
                               return TensorMap{{"part", Tensor::scalar(value)}};
                             },
                             [this, name, &value](const TensorMap& state) {
                               calls_.push_back("restore " + name);
                               value = state.at("part").scalar<int64_t>();
                             }),
                         is_hooks});
  }
  RecordingSession session() { return {graph_.new_session(), calls_}; }

  ScriptedGraph graph_;
  std::vector<std::string> calls_;
  int64_t object_ = 1;
  int64_t hook_ = 10;
};

// No snapshot may be copying what an object is about to change.
TEST_F(ProgramValuesTest, WaitsForSnapshotsThoughItWritesNoVariable) {
  add_object("object", object_, false);
  RecordingSession session = this->session();
  const ProgramValues values(session,
                             [](const std::string& name, DType) { return name == "object/part"; });
  const ProgramValues::Copy copy = values.read(session);
  object_ = 5;
  values.write(session, copy);
  EXPECT_EQ(object_, 1);
  EXPECT_THAT(calls_, ElementsAre("assign 0", "restore object"));
}

TEST_F(ProgramValuesTest, WhatIsAsInTheCopyStays) {
  add_object("object", object_, false);
  RecordingSession session = this->session();
  const ProgramValues values(session, [](const std::string&, DType) { return true; });
  values.write(session, values.read(session));
  EXPECT_THAT(calls_, ElementsAre("assign 1"));  // The step.
}

TEST_F(ProgramValuesTest, TheStateOfHooksComesAlongWithoutANameOfItsOwn) {
  add_object("object", object_, false);
  add_object("hook", hook_, true);
  RecordingSession session = this->session();
  ProgramValues values(session,
                       [](const std::string& name, DType) { return name != "global_step"; });
  values.add_hooks(graph_);
  const ProgramValues::Copy before = values.read(session);
  std::vector<std::string> names;
  values.for_each(before, [&](const std::string& name, const Tensor&) { names.push_back(name); });
  EXPECT_THAT(names, ElementsAre("object/part"));
  object_ = 2;
  hook_ = 20;
  ProgramValues::Copy now = values.read(session);
  values.take_named(before, now);
  values.write(session, now);
  EXPECT_EQ(object_, 1);
  EXPECT_EQ(hook_, 20);
  values.write(session, before);
  EXPECT_EQ(hook_, 10);
}

}  // namespace
}  // namespace crochet::internal
