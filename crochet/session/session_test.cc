// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet {
namespace {

using ::testing::ElementsAre;
using ::testing::ThrowsMessage;

// One operation, "numbers", whose output k is k; the first one may count steps.
class NumbersGraph final : public Graph {
 public:
  bool counts_steps = false;

  std::unique_ptr<Session> new_session(const std::string&, const SessionConfig&) override {
    throw UnimplementedError("tests create their sessions themselves");
  }
  const OperationInfo* find_operation(std::string_view name) const override {
    return name == numbers_.name ? &numbers_ : nullptr;
  }
  std::vector<std::string> operation_names() const override { return {numbers_.name}; }
  std::vector<Variable> variables() const override { return {}; }
  Output global_step() const override { return counts_steps ? Output(&numbers_, 7) : Output(); }

 private:
  OperationInfo numbers_ = {.graph = this, .name = "numbers", .num_outputs = 10};
};

// Records its requests.
class NumbersSession final : public Session {
 public:
  explicit NumbersSession(DType dtype = DType::kInt64) : dtype_(dtype) {}

  NumbersGraph& graph() const override { return graph_; }
  const std::string& target() const override { return target_; }
  void run_into(std::span<const Output> fetches, const Feeds& feeds, std::span<Tensor> results,
                const RunOptions& options, RunMetadata* metadata) override {
    ASSERT_EQ(fetches.size(), results.size());
    asked.assign(fetches.begin(), fetches.end());
    num_feeds = feeds.size();
    asked_options = options;
    if (metadata != nullptr) metadata->start_time = 7;
    for (size_t i = 0; i < fetches.size(); ++i) results[i] = number(fetches[i].index());
  }
  Snapshot snapshot(std::span<const Variable>) override { return {}; }
  void assign(std::span<const Assignment>) override {}
  void close() override {}

  std::vector<Output> asked;
  size_t num_feeds = 0;
  RunOptions asked_options;

 private:
  Tensor number(int value) const {
    return dtype_ == DType::kInt32 ? Tensor::scalar<int32_t>(value)
                                   : Tensor::scalar<int64_t>(value);
  }

  const DType dtype_;
  mutable NumbersGraph graph_;
  std::string target_;
};

TEST(SessionTest, RunsRequestsOfAnyStructure) {
  NumbersSession session;
  const Output three = session.graph().output("numbers:3");
  const FetchValues values = session.run({{"b", three}, {"a", Fetches::List{"numbers:1", three}}},
                                         {{three, Tensor::scalar<int64_t>(3)}});
  EXPECT_EQ(values["b"].scalar<int64_t>(), 3);
  EXPECT_EQ(values["a"][0].scalar<int64_t>(), 1);
  EXPECT_EQ(values["a"][1].scalar<int64_t>(), 3);
  EXPECT_THAT(session.asked, ElementsAre(session.graph().output("numbers:1"), three, three));
  EXPECT_EQ(session.num_feeds, 1);
}

TEST(SessionTest, AcceptsAnEmptyRequest) {
  NumbersSession session;
  EXPECT_FALSE(session.run({}));
  EXPECT_TRUE(session.asked.empty());
}

TEST(SessionTest, RunsNothingIfANameIsUnknown) {
  NumbersSession session;
  EXPECT_THROW(session.run(Fetches::List{"numbers:0", "letters"}), NotFoundError);
  EXPECT_TRUE(session.asked.empty());
}

TEST(SessionTest, ReadsTheGlobalStepOfEitherType) {
  for (const DType dtype : {DType::kInt32, DType::kInt64}) {
    NumbersSession session(dtype);
    session.graph().counts_steps = true;
    EXPECT_EQ(read_global_step(session), 7);
  }
}

TEST(SessionTest, HasNoGlobalStepIfTheGraphCountsNone) {
  NumbersSession session;
  EXPECT_THAT([&] { read_global_step(session); },
              ThrowsMessage<FailedPreconditionError>("the graph has no global step"));
}

class CountedWaits final : public PendingCopies {
 public:
  void wait() override { ++count; }
  int count = 0;
};

TEST(SnapshotTest, WaitsForItsCopiesWhenItIsRead) {
  const auto copies = std::make_shared<CountedWaits>();
  Snapshot snapshot({{"a", Tensor::zeros<float>({10})}}, copies);
  snapshot.add({"b", Tensor::scalar(1.0)});
  EXPECT_EQ(snapshot.num_bytes(), 48);
  EXPECT_EQ(copies->count, 0);
  EXPECT_EQ(snapshot.tensors().size(), 2);
  EXPECT_EQ(copies->count, 1);
}

TEST(SnapshotTest, IsEmptyByDefault) {
  EXPECT_TRUE(Snapshot().tensors().empty());
  EXPECT_EQ(Snapshot().num_bytes(), 0);
}

TEST(SessionTest, PassesOptionsAndMetadataToTheEngine) {
  NumbersSession session;
  RunMetadata metadata;
  session.run("numbers:1", {}, {.timeout_in_ms = 9}, &metadata);
  EXPECT_EQ(session.asked_options, RunOptions{.timeout_in_ms = 9});
  EXPECT_EQ(metadata.start_time, 7);
}

}  // namespace
}  // namespace crochet
