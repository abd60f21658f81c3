// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/export.h"
#include "crochet/session/session.h"

namespace crochet::inline v0 {

// What the suite needs from an engine: a graph with
//
//   train        an operation that adds 1 to the global step, which starts at 0
//   probe        an int64 output: calls in_probe, if operations can call functions of the
//                test, then returns how many times it was computed
//   matrix       a variable, float32 [2,3], with the values 0 to 5
//   vector       a variable, int64 [2], with the values 7 and 8
//
// Derive for each engine, with a default constructor.
class CROCHET_EXPORT SessionContractEngine {
 public:
  virtual ~SessionContractEngine() = default;

  virtual Graph& graph() = 0;
  // Adds an operation or a variable with this name.
  virtual void extend(const std::string& name) = 0;
  // A value that must be fed, float32 [?,2]; unset if the engine has no placeholders.
  virtual Output placeholder() { return Output(); }
  // A session with the initial values.
  virtual std::unique_ptr<Session> new_session() { return graph().new_session(target()); }
  virtual std::string target() const { return ""; }
  // False if "probe" calls nothing.
  virtual bool calls_in_probe() const { return true; }
  // The number of times "probe" was computed, in this session if each session has its own count.
  virtual int64_t count_probes(Session&) { return num_probes; }

  std::function<void()> in_probe = [] {};
  int64_t num_probes = 0;

 protected:
  Tensor probe() {
    in_probe();
    return Tensor::scalar(++num_probes);
  }
  static Tensor matrix() { return Tensor::from<float>({0, 1, 2, 3, 4, 5}, {2, 3}); }
  static Tensor vector() { return Tensor::from<int64_t>({7, 8}); }
};

// The contract of every Session. To be included in one source file of a test program:
//
//   INSTANTIATE_TYPED_TEST_SUITE_P(Mine, SessionContract, MyEngine);
template <typename Engine>
class SessionContract : public ::testing::Test {
 protected:
  Graph& graph() { return engine_.graph(); }
  Output output(const char* name) { return graph().output(name); }
  Operation train() { return graph().operation("train"); }
  int64_t step() { return read_global_step(*session_); }
  int64_t num_probes() { return engine_.count_probes(*session_); }

  Variable variable(const std::string& name) {
    for (const Variable& variable : graph().variables())
      if (variable.name() == name) return variable;
    throw NotFoundError(fmt::format("the engine has no variable \"{}\"", name));
  }

  Tensor value(Session& session, const std::string& name) {
    return session.snapshot({{variable(name)}}).tensors().at(0).tensor;
  }
  Tensor value(const std::string& name) { return value(*session_, name); }

  Assignment assignment(const std::string& name, const Tensor& value) {
    return {variable(name), value.shape(), [value](std::span<std::byte> destination) {
              ASSERT_EQ(destination.size(), value.num_bytes());
              std::memcpy(destination.data(), value.bytes().data(), destination.size());
            }};
  }

  // Expects every call of the session to be refused.
  void expect_all_refused(Session& session) {
    const std::vector<Variable> variables = graph().variables();
    const Assignment to_vector = assignment("vector", Tensor::from<int64_t>({1, 2}));
    EXPECT_THROW(session.run({}), FailedPreconditionError);
    EXPECT_THROW(session.snapshot(variables), FailedPreconditionError);
    EXPECT_THROW(session.assign({&to_vector, 1}), FailedPreconditionError);
  }

  Engine engine_;
  std::unique_ptr<Session> session_ = engine_.new_session();
};

TYPED_TEST_SUITE_P(SessionContract);

TYPED_TEST_P(SessionContract, KnowsItsGraphAndTarget) {
  EXPECT_EQ(&this->session_->graph(), &this->graph());
  EXPECT_EQ(this->session_->target(), this->engine_.target());
}

TYPED_TEST_P(SessionContract, FindsElementsOfTheGraph) {
  EXPECT_EQ(this->train().name(), "train");
  EXPECT_EQ(to_string(this->output("probe")), "probe:0");
  EXPECT_THAT(this->graph().operation_names(),
              ::testing::IsSupersetOf(std::vector<std::string>{"train", "probe"}));
  EXPECT_EQ(this->graph().find_operation("nothing"), nullptr);
  EXPECT_EQ(this->variable("matrix").dtype(), DType::kFloat);
  EXPECT_EQ(this->variable("matrix").shape(), (Shape{2, 3}));
  EXPECT_TRUE(this->graph().global_step());
}

TYPED_TEST_P(SessionContract, AcceptsAnEmptyRequest) { EXPECT_FALSE(this->session_->run({})); }

TYPED_TEST_P(SessionContract, ReturnsNoValueForAnOperation) {
  const FetchValues values = this->session_->run(this->train());
  EXPECT_FALSE(values.tensor().is_set());
  EXPECT_EQ(this->step(), 1);
}

TYPED_TEST_P(SessionContract, FetchesTheStepFromBeforeTheRun) {
  const Output step = this->graph().global_step();
  EXPECT_EQ(this->session_->run({step, this->train()})[0].template scalar<int64_t>(), 0);
  EXPECT_EQ(this->session_->run({this->train(), step})[1].template scalar<int64_t>(), 1);
  EXPECT_EQ(this->step(), 2);
}

TYPED_TEST_P(SessionContract, RunsNothingThatWasNotRequested) {
  this->session_->run(this->output("probe"));
  EXPECT_EQ(this->step(), 0);
  this->session_->run(this->train());
  EXPECT_EQ(this->num_probes(), 1);
}

TYPED_TEST_P(SessionContract, ComputesAnOutputOncePerRun) {
  const Output probe = this->output("probe");
  const FetchValues values = this->session_->run(Fetches::List{probe, Fetches::List{probe}});
  EXPECT_EQ(values[0].template scalar<int64_t>(), 1);
  EXPECT_EQ(values[1][0].template scalar<int64_t>(), 1);
  EXPECT_EQ(this->num_probes(), 1);
  EXPECT_EQ(this->session_->run(probe).template scalar<int64_t>(), 2);
}

TYPED_TEST_P(SessionContract, RunsAnOperationOncePerRun) {
  this->session_->run({this->train(), this->train()});
  EXPECT_EQ(this->step(), 1);
}

TYPED_TEST_P(SessionContract, EmptiesTheMetadata) {
  RunMetadata metadata = {.start_time = 7, .operations = {{.name = "of an earlier run"}}};
  this->session_->run(this->train(), {}, {}, &metadata);
  EXPECT_EQ(metadata.start_time, 0);
  EXPECT_THAT(metadata.operations, ::testing::IsEmpty());
}

TYPED_TEST_P(SessionContract, UsesAFedValueInsteadOfComputingIt) {
  const Output probe = this->output("probe");
  const FetchValues values = this->session_->run(probe, {{probe, Tensor::scalar<int64_t>(70)}});
  EXPECT_EQ(values.template scalar<int64_t>(), 70);
  EXPECT_EQ(this->num_probes(), 0);
  EXPECT_EQ(this->session_->run(probe).template scalar<int64_t>(), 1);
}

TYPED_TEST_P(SessionContract, RejectsAnOutputThatIsFedTwice) {
  const Output probe = this->output("probe");
  const Tensor value = Tensor::scalar<int64_t>(70);
  EXPECT_THROW(this->session_->run(probe, {{probe, value}, {probe, value}}), InvalidArgumentError);
  EXPECT_EQ(this->num_probes(), 0);
}

TYPED_TEST_P(SessionContract, AcceptsFedValuesOfCompatibleShapes) {
  const Output placeholder = this->engine_.placeholder();
  if (!placeholder) GTEST_SKIP() << "the engine has no placeholders";
  for (const int64_t rows : {0, 1, 3}) {
    const Tensor value = Tensor::zeros<float>({rows, 2});
    EXPECT_EQ(this->session_->run(placeholder, {{placeholder, value}}).tensor(), value);
  }
}

TYPED_TEST_P(SessionContract, RejectsFedValuesOfAWrongTypeOrShape) {
  const Output placeholder = this->engine_.placeholder();
  if (!placeholder) GTEST_SKIP() << "the engine has no placeholders";
  const Output probe = this->output("probe");
  for (const Tensor& value : {Tensor::zeros<double>({3, 2}), Tensor::zeros<float>({3, 3}),
                              Tensor::zeros<float>({2}), Tensor::zeros<float>({3, 2, 1})})
    EXPECT_THROW(this->session_->run(Fetches::List{probe, placeholder}, {{placeholder, value}}),
                 InvalidArgumentError)
        << describe(value);
  EXPECT_EQ(this->num_probes(), 0);
}

TYPED_TEST_P(SessionContract, RejectsARunWithoutARequiredFeed) {
  const Output placeholder = this->engine_.placeholder();
  if (!placeholder) GTEST_SKIP() << "the engine has no placeholders";
  EXPECT_THROW(this->session_->run(placeholder), InvalidArgumentError);
  this->session_->run(placeholder, {{placeholder, Tensor::zeros<float>({1, 2})}});
  EXPECT_THROW(this->session_->run(placeholder), InvalidArgumentError);
}

TYPED_TEST_P(SessionContract, RejectsOutputsOfAnotherGraph) {
  TypeParam other;
  const Output foreign = other.graph().output("probe");
  Tensor result;
  EXPECT_THROW(this->session_->run_into({&foreign, 1}, {}, {&result, 1}, {}, nullptr),
               InvalidArgumentError);
  EXPECT_EQ(other.count_probes(*other.new_session()), 0);
}

TYPED_TEST_P(SessionContract, PassesOnErrorsOfAnOperation) {
  if (!this->engine_.calls_in_probe()) GTEST_SKIP() << "no operation calls the test";
  struct UsersError : std::domain_error {
    using std::domain_error::domain_error;
  };
  this->engine_.in_probe = [] { throw UsersError("mine"); };
  EXPECT_THROW(this->session_->run(this->output("probe")), UsersError);
  this->engine_.in_probe = [] {};
  EXPECT_EQ(this->session_->run(this->output("probe")).template scalar<int64_t>(), 1);
}

TYPED_TEST_P(SessionContract, RejectsCallsFromWithinARun) {
  if (!this->engine_.calls_in_probe()) GTEST_SKIP() << "no operation calls the test";
  this->engine_.in_probe = [this] { this->expect_all_refused(*this->session_); };
  this->session_->run(this->output("probe"));
  EXPECT_EQ(this->num_probes(), 1);
  EXPECT_EQ(this->value("vector"), Tensor::from<int64_t>({7, 8}));
}

TYPED_TEST_P(SessionContract, RunsFromSeveralThreads) {
  constexpr int kThreads = 4;
  constexpr int kRuns = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([this] {
      const Fetches fetches = {this->train(), this->output("probe")};
      for (int run = 0; run < kRuns; ++run) this->session_->run(fetches);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(this->step(), kThreads * kRuns);
  EXPECT_EQ(this->num_probes(), kThreads * kRuns);
}

TYPED_TEST_P(SessionContract, TakesSnapshotsOfRequestedVariables) {
  const std::vector<Variable> variables = {this->variable("vector"), this->variable("matrix")};
  const Snapshot snapshot = this->session_->snapshot(variables);
  ASSERT_EQ(snapshot.tensors().size(), 2);
  EXPECT_EQ(snapshot.tensors()[0].name, "vector");
  EXPECT_EQ(snapshot.tensors()[0].tensor, Tensor::from<int64_t>({7, 8}));
  EXPECT_EQ(snapshot.tensors()[1].name, "matrix");
  EXPECT_EQ(snapshot.tensors()[1].tensor, Tensor::from<float>({0, 1, 2, 3, 4, 5}, {2, 3}));
}

TYPED_TEST_P(SessionContract, NeverChangesASnapshot) {
  const Snapshot before = this->session_->snapshot(this->graph().variables());
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): compared after a change.
  const std::vector<NamedTensor> copy = before.tensors();
  this->session_->run(this->train());
  const Assignment changed = this->assignment("matrix", Tensor::zeros<float>({2, 3}));
  this->session_->assign({&changed, 1});
  ASSERT_EQ(before.tensors().size(), copy.size());
  for (size_t i = 0; i < copy.size(); ++i) EXPECT_EQ(before.tensors()[i].tensor, copy[i].tensor);
  EXPECT_EQ(this->value("matrix"), Tensor::zeros<float>({2, 3}));
}

TYPED_TEST_P(SessionContract, TakesSnapshotsWhileOtherThreadsRun) {
  constexpr int kSteps = 100;
  std::thread trainer([this] {
    for (int run = 0; run < kSteps; ++run) this->session_->run(this->train());
  });
  int64_t last = 0;
  while (last < kSteps) {
    const int64_t now = this->value("global_step").template scalar<int64_t>();
    EXPECT_GE(now, last);
    last = now;
  }
  trainer.join();
}

TYPED_TEST_P(SessionContract, AssignsManyVariables) {
  const std::vector<Assignment> assignments = {
      this->assignment("matrix", Tensor::from<float>({6, 5, 4, 3, 2, 1}, {2, 3})),
      this->assignment("vector", Tensor::from<int64_t>({1, 2}))};
  this->session_->assign(assignments);
  EXPECT_EQ(this->value("matrix"), Tensor::from<float>({6, 5, 4, 3, 2, 1}, {2, 3}));
  EXPECT_EQ(this->value("vector"), Tensor::from<int64_t>({1, 2}));
}

TYPED_TEST_P(SessionContract, ChangesNothingIfAShapeDoesNotMatch) {
  const std::vector<Assignment> assignments = {
      this->assignment("vector", Tensor::from<int64_t>({1, 2})),
      this->assignment("matrix", Tensor::zeros<float>({3, 2}))};
  EXPECT_THROW(this->session_->assign(assignments), InvalidArgumentError);
  EXPECT_EQ(this->value("vector"), Tensor::from<int64_t>({7, 8}));
}

TYPED_TEST_P(SessionContract, PassesOnErrorsOfAFill) {
  const Assignment failing = {this->variable("vector"), Shape{2},
                              [](std::span<std::byte>) { throw DataLossError("a wrong byte"); }};
  EXPECT_THROW(this->session_->assign({&failing, 1}), DataLossError);
  const Assignment fine = this->assignment("vector", Tensor::from<int64_t>({1, 2}));
  this->session_->assign({&fine, 1});
  EXPECT_EQ(this->value("vector"), Tensor::from<int64_t>({1, 2}));
}

TYPED_TEST_P(SessionContract, RejectsCallsOnceClosed) {
  this->session_->close();
  this->expect_all_refused(*this->session_);
  this->session_->close();
}

TYPED_TEST_P(SessionContract, StartsEverySessionFromTheInitialValues) {
  this->session_->run(this->train());
  const Assignment changed = this->assignment("matrix", Tensor::zeros<float>({2, 3}));
  this->session_->assign({&changed, 1});
  const std::unique_ptr<Session> second = this->engine_.new_session();
  EXPECT_EQ(read_global_step(*second), 0);
  EXPECT_EQ(this->value(*second, "matrix"), Tensor::from<float>({0, 1, 2, 3, 4, 5}, {2, 3}));
  EXPECT_EQ(this->step(), 1);
}

TYPED_TEST_P(SessionContract, DoesNotExtendAFinalizedGraph) {
  this->engine_.extend("before");
  this->graph().finalize();
  EXPECT_THAT([this] { this->engine_.extend("after"); },
              ::testing::ThrowsMessage<FailedPreconditionError>(::testing::HasSubstr("after")));
  this->session_->run(this->train());
  EXPECT_EQ(this->step(), 1);
}

REGISTER_TYPED_TEST_SUITE_P(
    SessionContract, KnowsItsGraphAndTarget, FindsElementsOfTheGraph, AcceptsAnEmptyRequest,
    ReturnsNoValueForAnOperation, FetchesTheStepFromBeforeTheRun, RunsNothingThatWasNotRequested,
    ComputesAnOutputOncePerRun, RunsAnOperationOncePerRun, EmptiesTheMetadata,
    UsesAFedValueInsteadOfComputingIt, RejectsAnOutputThatIsFedTwice,
    AcceptsFedValuesOfCompatibleShapes, RejectsFedValuesOfAWrongTypeOrShape,
    RejectsARunWithoutARequiredFeed, RejectsOutputsOfAnotherGraph, PassesOnErrorsOfAnOperation,
    RejectsCallsFromWithinARun, RunsFromSeveralThreads, TakesSnapshotsOfRequestedVariables,
    NeverChangesASnapshot, TakesSnapshotsWhileOtherThreadsRun, AssignsManyVariables,
    ChangesNothingIfAShapeDoesNotMatch, PassesOnErrorsOfAFill, RejectsCallsOnceClosed,
    StartsEverySessionFromTheInitialValues, DoesNotExtendAFinalizedGraph);

}  // namespace crochet::inline v0
