// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Functions, and operations that call them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/engines/tensorflow/builder/graph_builder.h"
#include "crochet/engines/tensorflow/graph.h"
#include "crochet/session/graph.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet::tensorflow {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;
using Inputs = std::vector<Output>;

class FunctionTest : public testing::Test {
 protected:
  // A function of a float: x * factor.
  Function times(const std::string& name, float factor) {
    return build_.function(name, {{"x", DType::kFloat}}, [&](GraphBuilder& body, const Inputs& in) {
      return body.op("Mul", "product", {in[0], body.constant("factor", factor)});
    });
  }
  // A function without inputs: a float.
  Function number(const std::string& name, float value) {
    return build_.function(name, {}, [&](GraphBuilder& body, const Inputs&) {
      return body.constant("number", value);
    });
  }
  // A function that adds to the variable with the given handle; no output.
  Function adds(const std::string& name, float amount) {
    return build_.function(
        name, {{"v", DType::kResource}}, [&](GraphBuilder& body, const Inputs& in) {
          body.op("AssignAddVariableOp", "add", {in[0], body.constant("amount", amount)});
          return Inputs();
        });
  }
  float run(const Output& output, const Feeds& feeds = {}) {
    return initialized_session(graph_)->run(output, feeds).scalar<float>();
  }

  Graph graph_;
  GraphBuilder build_{graph_};
  const Output flag_ = build_.placeholder<bool>("flag", {});
  const Output three_ = build_.constant("three", 3.0f);
};

TEST_F(FunctionTest, KnowsItsInputAndOutputTypes) {
  const Function function =
      build_.function("pick", {{"a", DType::kFloat, Shape{2}}, {"b", DType::kString}},
                      [](GraphBuilder& body, const Inputs& in) -> OpInput {
                        EXPECT_EQ(in[0].graph()->output_info(in[0]).shape, Shape{2});
                        return {in[1], body.op("Size", "size", {in[0]}), in[1]};
                      });
  EXPECT_EQ(function.name(), "pick");
  EXPECT_THAT(function.input_types(), ElementsAre(DType::kFloat, DType::kString));
  EXPECT_THAT(function.output_types(), ElementsAre(DType::kString, DType::kInt32, DType::kString));
  EXPECT_EQ(build_.function("pick"), function);
  EXPECT_THAT([&] { build_.function("peck"); },
              ThrowsMessage<NotFoundError>(HasSubstr("\"peck\"")));
  EXPECT_FALSE(Function());
}

TEST_F(FunctionTest, IsABranch) {
  const Attributes branches = {{"then_branch", times("twice", 2)},
                               {"else_branch", times("half", 0.5)}};
  for (const char* const type : {"If", "StatelessIf"}) {
    const auto y = build_.op(type, type, {flag_, {three_}}, branches);
    EXPECT_EQ(run(y[0], {{flag_, Tensor::scalar(true)}}), 6) << type;
    EXPECT_EQ(run(y[0], {{flag_, Tensor::scalar(false)}}), 1.5) << type;
  }
}

// Names in a body are local to it.
TEST_F(FunctionTest, MayBeOneOfAList) {
  const auto index = build_.placeholder<int32_t>("index", {});
  const Attributes branches = {{"branches", {times("once", 1), times("twice", 2), times("x3", 3)}},
                               {"Tout", {DType::kFloat}}};
  const auto y = build_.op("Case", "product", {index, {three_}}, branches);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(run(y[0], {{index, Tensor::scalar(i)}}), 3.0f * static_cast<float>(i + 1));
}

TEST_F(FunctionTest, IsRunInALoop) {
  const std::vector<FunctionInput> state = {{"count", DType::kInt32}, {"x", DType::kFloat}};
  const Function is_small =
      build_.function("is_small", state, [](GraphBuilder& body, const Inputs& in) {
        return body.op("Less", "less", {in[1], body.constant("limit", 100.0f)});
      });
  const Function doubled =
      build_.function("doubled", state, [](GraphBuilder& body, const Inputs& in) -> OpInput {
        return {body.op("Add", "next", {in[0], body.constant("one", 1)}),
                body.op("Add", "sum", {in[1], in[1]})};
      });
  for (const char* const type : {"While", "StatelessWhile"}) {
    const auto loop =
        build_.op(type, type, {{build_.constant(std::string(type) + "/0", 0), three_}},
                  {{"cond", is_small}, {"body", doubled}});
    EXPECT_EQ(run(loop[1]), 192) << type;
    EXPECT_EQ(initialized_session(graph_)->run(loop[0]).scalar<int32_t>(), 6) << type;
  }
}

TEST_F(FunctionTest, CallsOthers) {
  const Function twice = times("twice", 2);
  Function inner;
  const Function outer =
      build_.function("outer", {{"x", DType::kFloat}}, [&](GraphBuilder& body, const Inputs& in) {
        EXPECT_EQ(body.function("twice"), twice);
        inner = body.function("inner", {{"x", DType::kFloat}},
                              [](GraphBuilder& body, const Inputs& in) {
                                return body.op("Square", "square", {in[0]});
                              });
        const auto doubled = body.op("PartitionedCall", "doubled", {{in[0]}}, {{"f", twice}});
        return body.op("PartitionedCall", "squared", {{doubled}}, {{"f", inner}});
      });
  EXPECT_EQ(run(build_.op("PartitionedCall", "y", {{three_}}, {{"f", outer}})[0]), 36);
  // It is a function of the graph as well.
  EXPECT_EQ(build_.function("inner"), inner);
  EXPECT_EQ(run(build_.op("PartitionedCall", "z", {{three_}}, {{"f", inner}})[0]), 9);
  // The way older graphs call functions.
  EXPECT_EQ(run(build_.op("twice", "direct", {three_})[0]), 6);
}

TEST_F(FunctionTest, MayHaveNoInputs) {
  const auto y = build_.op("If", "y", {flag_, std::vector<Output>()},
                           {{"then_branch", number("one", 1)}, {"else_branch", number("two", 2)}});
  EXPECT_EQ(run(y[0], {{flag_, Tensor::scalar(false)}}), 2);
}

// Changes are made in the branch that is taken, once, though no output needs them.
TEST_F(FunctionTest, ChangesVariablesByTheirHandles) {
  const auto v = build_.variable("v", Tensor::scalar(10.0f));
  const Operation branch =
      build_.op("If", "branch", {flag_, {GraphBuilder::handle(v)}},
                {{"then_branch", adds("add_1", 1)}, {"else_branch", adds("add_5", 5)}});
  const Operation call = build_.op("StatefulPartitionedCall", "call", {{GraphBuilder::handle(v)}},
                                   {{"f", build_.function("add_1")}});
  const auto session = initialized_session(graph_);
  const auto value = [&] { return session->run(GraphBuilder::value(v)).scalar<float>(); };
  session->run(Output(branch), {{flag_, Tensor::scalar(true)}});
  EXPECT_EQ(value(), 11);
  session->run(Output(branch), {{flag_, Tensor::scalar(false)}});
  EXPECT_EQ(value(), 16);
  session->run(Output(call));
  EXPECT_EQ(value(), 17);
  // Snapshots wait for what may change a variable.
  const std::vector<Output> runs = {branch};
  EXPECT_TRUE(graph_.changes_variables(runs));
}

TEST_F(FunctionTest, RunsOperationsThatNoOutputNeeds) {
  const auto v = build_.variable("v", Tensor::scalar(10.0f));
  const Function function = build_.function(
      "count", {{"v", DType::kResource}, {"x", DType::kFloat}},
      [](GraphBuilder& body, const Inputs& in) {
        body.op("AssignAddVariableOp", "add", {in[0], body.constant("amount", 1.0f)});
        return in[1];
      });
  const auto call = build_.op("StatefulPartitionedCall", "call",
                              {{GraphBuilder::handle(v), three_}}, {{"f", function}});
  const auto session = initialized_session(graph_);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(session->run(call[0]).scalar<float>(), 3);
    EXPECT_EQ(session->run(GraphBuilder::value(v)).scalar<float>(), 10 + static_cast<float>(i));
  }
}

// TensorFlow itself assigns a value of any shape to a variable.
TEST_F(FunctionTest, ChecksShapesOfAssignmentsInTheRun) {
  const auto v = build_.variable("v", Tensor::zeros<float>({2}));
  const auto value = build_.placeholder("value", DType::kFloat);
  const Function assign = build_.function("assign", {{"v", DType::kResource}, {"x", DType::kFloat}},
                                          [](GraphBuilder& body, const Inputs& in) {
                                            body.op("AssignVariableOp", "assign", {in[0], in[1]});
                                            return Inputs();
                                          });
  const Operation call = build_.op("StatefulPartitionedCall", "call",
                                   {{GraphBuilder::handle(v), value}}, {{"f", assign}});
  const auto session = initialized_session(graph_);
  EXPECT_THROW(session->run(Output(call), {{value, Tensor::zeros<float>({3})}}),
               InvalidArgumentError);
  session->run(Output(call), {{value, Tensor::from<float>({1, 2})}});
  EXPECT_EQ(session->run(GraphBuilder::value(v)).tensor(), Tensor::from<float>({1, 2}));
}

TEST_F(FunctionTest, AddsToTheStepAfterItsRead) {
  create_global_step(graph_);
  const Output handle = graph_.output("global_step");
  const Function count = build_.function(
      "count", {{"step", DType::kResource}}, [](GraphBuilder& body, const Inputs& in) {
        body.op("AssignAddVariableOp", "add", {in[0], body.constant("one", int64_t{1})});
        return Inputs();
      });
  const Operation train = build_.op("StatefulPartitionedCall", "train", {{handle}}, {{"f", count}});
  const auto session = initialized_session(graph_);
  for (int64_t step = 0; step < 20; ++step)
    EXPECT_EQ(session->run({graph_.global_step(), train})[0].scalar<int64_t>(), step);
}

TEST_F(FunctionTest, IsImportedAgain) {
  build_.op("If", "y", {flag_, {three_}},
            {{"then_branch", times("twice", 2)}, {"else_branch", times("half", 0.5)}});
  Graph imported = Graph::from_meta_graph(*graph_.meta_graph(), "built");
  GraphBuilder build(imported);
  const Function half = build.function("half");
  EXPECT_THAT(half.input_types(), ElementsAre(DType::kFloat));
  EXPECT_THAT(half.output_types(), ElementsAre(DType::kFloat));
  const auto quarter =
      build.op("StatelessIf", "quarter", {imported.output("flag"), {imported.output("y")}},
               {{"then_branch", build.function("twice")}, {"else_branch", half}});
  const auto session = imported.new_session("");
  EXPECT_EQ(
      session->run(quarter[0], {{imported.output("flag"), Tensor::scalar(false)}}).scalar<float>(),
      0.75);
}

TEST_F(FunctionTest, IsExportedThoughNothingCallsIt) {
  const auto before = graph_.meta_graph();
  times("twice", 2);
  Graph imported = Graph::from_meta_graph(*graph_.meta_graph(), "built");
  EXPECT_EQ(GraphBuilder(imported).function("twice").name(), "twice");
  EXPECT_THROW(
      {
        Graph other = Graph::from_meta_graph(*before, "before");
        GraphBuilder(other).function("twice");
      },
      NotFoundError);
}

TEST_F(FunctionTest, HasGradientsThroughACall) {
  const Function square = build_.function(
      "square", {{"x", DType::kFloat}},
      [](GraphBuilder& body, const Inputs& in) { return body.op("Square", "square", {in[0]}); });
  const auto y = build_.op("PartitionedCall", "y", {{three_}}, {{"f", square}});
  EXPECT_EQ(run(build_.gradients("g", {y}, {three_})[0]), 6);
}

// An operation without a gradient within a function is detected in the run.
TEST_F(FunctionTest, FailsInTheRunIfABodyHasNoGradient) {
  const Function twice = times("twice", 2);
  const auto calls = [&](const char* name, const FunctionBody& body) {
    return build_.op(
        "PartitionedCall", name, {{three_}},
        {{"f", build_.function(std::string("f_") + name, {{"x", DType::kFloat}}, body)}});
  };
  const auto selu = calls(
      "selu", [](GraphBuilder& body, const Inputs& in) { return body.op("Selu", "y", {in[0]}); });
  const auto branch = calls("branch", [&](GraphBuilder& body, const Inputs& in) {
    return body.op("If", "y", {body.constant("flag", true), {in[0]}},
                   {{"then_branch", twice}, {"else_branch", twice}});
  });
  for (const Operation& y : {selu, branch}) {
    const Output gradient = build_.gradients("of_" + y.name(), {y}, {three_})[0];
    EXPECT_THROW(run(gradient), Error) << y.name();
  }
}

TEST_F(FunctionTest, BranchesHaveNoGradients) {
  const Function twice = times("twice", 2);
  const auto y =
      build_.op("If", "y", {flag_, {three_}}, {{"then_branch", twice}, {"else_branch", twice}});
  const size_t size = graph_.operation_names().size();
  EXPECT_THAT([&] { build_.gradients("g", {y}, {three_}); },
              ThrowsMessage<UnimplementedError>(
                  AllOf(HasSubstr("gradients \"g\""), HasSubstr("If"), HasSubstr("\"y\""))));
  EXPECT_EQ(graph_.operation_names().size(), size);
}

TEST_F(FunctionTest, HasGradientsWithinItsBody) {
  const Function derivative = build_.function(
      "derivative", {{"x", DType::kFloat, Shape{}}}, [](GraphBuilder& body, const Inputs& in) {
        return body.gradients("g", {body.op("Square", "square", {in[0]})}, {in[0]})[0];
      });
  EXPECT_EQ(run(build_.op("PartitionedCall", "y", {{three_}}, {{"f", derivative}})[0]), 6);
}

TEST_F(FunctionTest, MustMatchTheOperation) {
  const Function twice = times("twice", 2);
  const Function one = number("one", 1);
  const Function text = build_.function(
      "text", {{"x", DType::kFloat}},
      [](GraphBuilder& body, const Inputs&) { return body.constant("text", "cat"); });
  const Function nothing = build_.function("nothing", {{"x", DType::kFloat}},
                                           [](GraphBuilder&, const Inputs&) { return Inputs(); });
  const auto expect_refused = [&](const char* type, const std::vector<OpInput>& inputs,
                                  const Attributes& attributes, const char* cause) {
    EXPECT_THAT([&] { build_.op(type, "y", inputs, attributes); },
                ThrowsMessage<InvalidArgumentError>(
                    AllOf(HasSubstr("\"y\""), HasSubstr(type), HasSubstr(cause))));
    EXPECT_EQ(graph_.find_operation("y"), nullptr);
  };
  expect_refused("If", {flag_, {three_}}, {{"then_branch", twice}, {"else_branch", text}},
                 "\"text\" takes (float32) and returns (string), expected (float32) and (float32)");
  expect_refused("If", {flag_, {three_}}, {{"then_branch", twice}, {"else_branch", one}},
                 "\"one\" takes ()");
  expect_refused("If", {flag_, {three_}},
                 {{"then_branch", twice}, {"else_branch", twice}, {"Tout", {DType::kInt32}}},
                 "expected (float32) and (int32)");
  expect_refused("StatelessCase", {build_.constant("0", 0), {three_}},
                 {{"branches", {twice, text}}}, "\"text\"");
  expect_refused("While", {{three_}}, {{"cond", nothing}, {"body", twice}}, "one value");
  expect_refused("While", {{three_}}, {{"cond", twice}, {"body", nothing}}, "returns ()");
  expect_refused("PartitionedCall", {{three_, three_}}, {{"f", twice}}, "(float32, float32)");
  expect_refused("If", {flag_, {three_}}, {{"then_branch", twice}}, "else_branch");
  expect_refused("LeakyRelu", {three_}, {{"alpha", twice}}, "alpha");
  expect_refused("PartitionedCall", {{three_}}, {{"f", "twice"}}, "f");
  EXPECT_EQ(run(three_), 3);
}

TEST_F(FunctionTest, MustBeOfTheGraph) {
  Graph other;
  GraphBuilder build_other(other);
  const auto same = [](GraphBuilder&, const Inputs& in) { return in[0]; };
  const Function foreign = build_other.function("same", {{"x", DType::kFloat}}, same);
  const auto call = [&](const Function& function) {
    build_.op("PartitionedCall", "y", {{three_}}, {{"f", function}});
  };
  const std::string cause = "\"same\" is of another graph";
  EXPECT_THAT([&] { call(foreign); }, ThrowsMessage<InvalidArgumentError>(HasSubstr(cause)));
  build_.function("same", {{"x", DType::kFloat}}, same);
  EXPECT_THAT([&] { call(foreign); }, ThrowsMessage<InvalidArgumentError>(HasSubstr(cause)));
  EXPECT_THAT([&] { call(Function()); }, ThrowsMessage<InvalidArgumentError>(HasSubstr("unset")));
  EXPECT_THROW(build_.op("Case", "y", {build_.constant("0", 0), {three_}},
                         {{"branches", {build_.function("same"), foreign}}}),
               InvalidArgumentError);
  EXPECT_EQ(graph_.find_operation("y"), nullptr);
}

TEST_F(FunctionTest, RejectsNamesThatAreTaken) {
  times("twice", 2);
  for (const char* const name : {"twice", "MatMul", "NoOp"})
    EXPECT_THAT([&] { number(name, 1); }, ThrowsMessage<AlreadyExistsError>(HasSubstr(name)));
  for (const char* const name : {"", "a b", "_f", "1f", "a:0", "crochet/f"})
    EXPECT_THROW(number(name, 1), InvalidArgumentError) << name;
  const auto nothing = [](GraphBuilder&, const Inputs&) { return Inputs(); };
  for (const char* const input : {"", "1", "_x", "a b"})
    EXPECT_THROW(build_.function("f", {{input, DType::kFloat}}, nothing), InvalidArgumentError)
        << input;
  EXPECT_THROW(build_.function("f", {{"x", DType::kFloat}, {"x", DType::kFloat}}, nothing),
               AlreadyExistsError);
  EXPECT_THROW(build_.function("f", {{"x", DType::kInvalid}}, nothing), InvalidArgumentError);
  EXPECT_EQ(run(three_), 3);
}

TEST_F(FunctionTest, CannotUseTheGraphsOutputs) {
  const auto expect_refused = [&](const FunctionBody& body, const char* cause) {
    EXPECT_THAT(
        [&] {
          build_.function("f", {{"x", DType::kFloat}}, body);
        },
        ThrowsMessage<InvalidArgumentError>(HasSubstr(cause)));
    EXPECT_THROW(build_.function("f"), NotFoundError);
  };
  const std::string other = "is of another graph";
  expect_refused([&](GraphBuilder&, const Inputs&) { return three_; }, other.c_str());
  expect_refused(
      [&](GraphBuilder& body, const Inputs& in) {
        return body.op("Add", "y", {in[0], three_});
      },
      other.c_str());
  expect_refused([](GraphBuilder&, const Inputs&) { return Output(); }, "output 0");
  expect_refused(
      [](GraphBuilder& body, const Inputs&) { return body.variable("v", Tensor::scalar(1.0f)); },
      "no variables");
  expect_refused([](GraphBuilder& body, const Inputs&) { return body.placeholder<float>("p", {}); },
                 "cannot be fed");
  expect_refused(
      [](GraphBuilder& body, const Inputs& in) { return body.scalar_summary("s", in[0]); },
      "summaries");
  // An exception of the body is passed on, and the name stays free.
  struct Mine {};
  EXPECT_THROW(
      build_.function("f", {}, [](GraphBuilder&, const Inputs&) -> OpInput { throw Mine(); }),
      Mine);
  number("f", 2);
  EXPECT_THAT(build_.function("f").input_types(), IsEmpty());
  graph_.finalize();
  EXPECT_THROW(number("g", 2), FailedPreconditionError);
}

}  // namespace
}  // namespace crochet::tensorflow
