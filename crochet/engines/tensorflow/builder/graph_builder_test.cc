// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/builder/graph_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/session/graph.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet::tensorflow {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

class GraphBuilderTest : public testing::Test {
 protected:
  Tensor run(const Fetches& fetches, const Feeds& feeds = {}) {
    return graph_.new_session("")->run(fetches, feeds).tensor();
  }

  Graph graph_;
  GraphBuilder build_{graph_};
};

TEST_F(GraphBuilderTest, RunsBuiltOperations) {
  const auto x = build_.placeholder<float>("x", {-1, 2});
  const auto y = build_.op("MatMul", "product",
                           {x, build_.constant("w", Tensor::from<float>({1, 10}, {2, 1}))});
  EXPECT_EQ(run(y[0], {{x, Tensor::from<float>({1, 2, 3, 4}, {2, 2})}}),
            Tensor::from<float>({21, 43}, {2, 1}));
  EXPECT_EQ(graph_.output("product"), y[0]);
  EXPECT_EQ(graph_.output_info(y[0]).shape, (Shape{-1, 1}));
}

TEST_F(GraphBuilderTest, AcceptsConstantsOfAllKinds) {
  EXPECT_EQ(run(build_.constant("int", 3)), Tensor::scalar<int32_t>(3));
  EXPECT_EQ(run(build_.constant("int64", int64_t{3})), Tensor::scalar<int64_t>(3));
  EXPECT_EQ(run(build_.constant("flag", true)), Tensor::scalar(true));
  EXPECT_EQ(run(build_.constant("word", "cat")), Tensor::scalar(std::string("cat")));
  EXPECT_EQ(run(build_.constant("numbers", std::vector{0.5, 1.5})),
            Tensor::from<double>({0.5, 1.5}));
  const Tensor words = Tensor::from({"dog", std::string(60, 'x')});
  EXPECT_EQ(run(build_.constant("words", words)), words);
  const Tensor large = Tensor::zeros<float>({100, 100});
  EXPECT_EQ(run(build_.constant("large", large)), large);
  EXPECT_THROW(build_.constant("nothing", Tensor()), InvalidArgumentError);
}

TEST_F(GraphBuilderTest, AcceptsAttributesOfAllKinds) {
  const auto x = build_.constant("x", Tensor::from<float>({1, -2, 3, 4}, {1, 2, 2, 1}));
  EXPECT_EQ(
      run(build_.op("MaxPool", "list_of_int", {x},
                    {{"ksize", {1, 2, 2, 1}}, {"strides", {1, 2, 2, 1}}, {"padding", "VALID"}})[0]),
      Tensor::from<float>({4}, {1, 1, 1, 1}));
  EXPECT_EQ(run(build_.op("LeakyRelu", "number", {x}, {{"alpha", 0.5}})[0]),
            Tensor::from<float>({1, -1, 3, 4}, {1, 2, 2, 1}));
  EXPECT_EQ(run(build_.op("Cast", "type", {x}, {{"DstT", DType::kInt32}})[0]),
            Tensor::from<int32_t>({1, -2, 3, 4}, {1, 2, 2, 1}));
  const auto axes = build_.constant("axes", std::vector{0, 1, 2, 3});
  EXPECT_EQ(run(build_.op("Sum", "flag", {x, axes}, {{"keep_dims", true}})[0]).shape(),
            (Shape{1, 1, 1, 1}));
  EXPECT_EQ(
      run(build_.op("Squeeze", "empty_list", {x}, {{"squeeze_dims", std::vector<int64_t>()}})[0])
          .shape(),
      (Shape{2, 2}));
  EXPECT_EQ(run(build_.op("Bucketize", "list_of_float", {x}, {{"boundaries", {0.0, 2.0}}})[0]),
            Tensor::from<int32_t>({1, 0, 2, 2}, {1, 2, 2, 1}));
  const auto queue = build_.op("FIFOQueueV2", "lists_of_types_and_shapes", {},
                               {{"component_types", {DType::kFloat, DType::kString}},
                                {"shapes", {Shape{2}, Shape{}}},
                                {"capacity", 7}});
  EXPECT_EQ(run(build_.op("QueueSizeV2", "size", {queue})[0]), Tensor::scalar<int32_t>(0));
  const auto of_any_rank =
      build_.op("Placeholder", "unknown", {},
                {{"dtype", DType::kFloat}, {"shape", Attribute::PartialShape()}});
  EXPECT_FALSE(graph_.output_info(of_any_rank[0]).shape);
}

TEST_F(GraphBuilderTest, AcceptsListsOfInputs) {
  const auto a = build_.constant("a", 1);
  const auto b = build_.op("Add", "b", {a, a});
  EXPECT_EQ(run(build_.op("Pack", "three", {{a, b, a}})[0]), Tensor::from<int32_t>({1, 2, 1}));
  EXPECT_EQ(run(build_.op("Pack", "one", {{a}})[0]), Tensor::from<int32_t>({1}));
  const std::vector<Output> many(20, a);
  EXPECT_EQ(run(build_.op("AddN", "sum", {many})[0]), Tensor::scalar<int32_t>(20));
  EXPECT_THAT([&] { build_.op("Pack", "no_list", {a}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("no_list")));
  EXPECT_THAT(
      [&] {
        build_.op("Neg", "list", {{a, b}});
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("list")));
}

TEST_F(GraphBuilderTest, OrdersByControlInputs) {
  const auto v = build_.variable("v", Tensor::scalar(1.0f));
  const auto add = build_.op("AssignAddVariableOp", "add",
                             {GraphBuilder::handle(v), build_.constant("two", 2.0f)});
  const auto after = build_.op("ReadVariableOp", "after", {GraphBuilder::handle(v)},
                               {{"dtype", DType::kFloat}}, {.control_inputs = {add}});
  EXPECT_EQ(initialized_session(graph_)->run(after[0]).scalar<float>(), 3);
}

TEST_F(GraphBuilderTest, PutsOperationsOnDevices) {
  const auto here = build_.constant("here", 1, {.device = "/device:CPU:0"});
  const auto beside = build_.op("Neg", "beside", {here}, {}, {.colocate_with = here});
  EXPECT_EQ(run(beside[0]), Tensor::scalar<int32_t>(-1));
  for (const char* const device : {"CPU", "/device", "/job:", "/cpu:x", "/device:CPU:0 "})
    EXPECT_THAT(
        [&] { build_.constant("there", 1, {.device = device}); },
        ThrowsMessage<InvalidArgumentError>(AllOf(HasSubstr("\"there\""), HasSubstr(device))));
  EXPECT_EQ(run(here), Tensor::scalar<int32_t>(1));
}

TEST_F(GraphBuilderTest, HasVariablesLikeThoseOfPython) {
  const auto w = build_.variable("hidden/w", Tensor::from<float>({1, 2, 3}));
  const auto random =
      build_.op("RandomUniform", "random", {build_.constant("shape", std::vector{2, 3})},
                {{"dtype", DType::kDouble}});
  const auto r = build_.variable("r", random, {.trainable = false});
  const auto words = build_.variable("words", Tensor::from({"a", "b"}));
  EXPECT_THAT(graph_.variables(), ElementsAre(w, r, words));
  EXPECT_EQ(w.dtype(), DType::kFloat);
  EXPECT_EQ(w.shape(), Shape{3});
  EXPECT_EQ(r.shape(), (Shape{2, 3}));
  EXPECT_FALSE(graph_.starts_initialized());
  const auto session = initialized_session(graph_);
  EXPECT_EQ(value_of(*session, w), Tensor::from<float>({1, 2, 3}));
  EXPECT_EQ(value_of(*session, words), Tensor::from({"a", "b"}));
  EXPECT_EQ(value_of(*session, r), value_of(*session, r));
  EXPECT_EQ(session->run(build_.op("Neg", "negative", {w})[0]).tensor(),
            Tensor::from<float>({-1, -2, -3}));
  const std::vector<Assignment> assignments = {assignment(w, Tensor::from<float>({4, 5, 6})),
                                               assignment(words, Tensor::from({"c", "d"}))};
  session->assign(assignments);
  EXPECT_EQ(value_of(*session, w), Tensor::from<float>({4, 5, 6}));
  EXPECT_EQ(value_of(*session, words), Tensor::from({"c", "d"}));
  session->run(GraphBuilder::initializer(w));
  EXPECT_EQ(value_of(*session, w), Tensor::from<float>({1, 2, 3}));
}

TEST_F(GraphBuilderTest, KeepsLocalVariablesOutOfCheckpoints) {
  const auto v = build_.variable("v", Tensor::scalar(1.0f));
  const auto local = build_.variable("local", Tensor::scalar<int64_t>(5), {.local = true});
  EXPECT_THAT(graph_.variables(), ElementsAre(v));
  const Output ready = graph_.default_ready_op();
  const Output ready_for_local = graph_.default_ready_for_local_init_op();
  const auto names = [&](const Output& output) {
    return graph_.new_session("")->run(output).tensor();
  };
  EXPECT_EQ(names(ready), Tensor::from({"v", "local"}));
  EXPECT_EQ(names(ready_for_local), Tensor::from({"v"}));
  const auto session = initialized_session(graph_);
  EXPECT_EQ(session->run(ready).tensor().num_elements(), 0);
  EXPECT_EQ(session->run(GraphBuilder::value(local)).scalar<int64_t>(), 5);
}

TEST_F(GraphBuilderTest, ChecksTheShapesOfVariables) {
  const auto any = build_.placeholder("any", DType::kFloat);
  EXPECT_THAT([&] { build_.variable("v", any); },
              ThrowsMessage<UnimplementedError>(AllOf(HasSubstr("\"v\""), HasSubstr("rank"))));
  EXPECT_THAT([&] { build_.variable("v", Tensor::zeros<float>({2}), {.shape = Shape{3}}); },
              ThrowsMessage<InvalidArgumentError>(AllOf(HasSubstr("[2]"), HasSubstr("[3]"))));
  const auto v = build_.variable("v", any, {.shape = Shape{3}});
  EXPECT_EQ(v.shape(), Shape{3});
  const auto session = graph_.new_session("");
  const Operation init = GraphBuilder::initializer(v);
  EXPECT_THROW(session->run(init, {{any, Tensor::zeros<float>({2})}}), InvalidArgumentError);
  session->run(init, {{any, Tensor::zeros<float>({3})}});
  // TensorFlow checks the shape only if validate_shape is set.
  const auto assign = build_.op("AssignVariableOp", "assign", {GraphBuilder::handle(v), any});
  EXPECT_THROW(session->run(assign, {{any, Tensor::zeros<float>({2})}}), InvalidArgumentError);
  EXPECT_EQ(value_of(*session, v), Tensor::zeros<float>({3}));
  const auto four = build_.constant("four", Tensor::zeros<float>({4}));
  EXPECT_THAT(
      [&] {
        build_.op("AssignVariableOp", "wrong", {GraphBuilder::handle(v), four});
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("wrong")));
}

TEST_F(GraphBuilderTest, RejectsVariablesThatCannotBeSaved) {
  EXPECT_THROW(build_.variable("v", Tensor()), InvalidArgumentError);
  const auto queue = build_.op("FIFOQueueV2", "queue", {}, {{"component_types", {DType::kFloat}}});
  EXPECT_THROW(build_.variable("v", queue), UnimplementedError);
  build_.variable("v", Tensor::scalar(1));
  EXPECT_THROW(build_.variable("v", Tensor::scalar(1)), AlreadyExistsError);
  build_.group("w/Assign", {});
  EXPECT_THROW(build_.variable("w", Tensor::scalar(1)), AlreadyExistsError);
  EXPECT_EQ(graph_.find_operation("w"), nullptr);
}

// Two variables without a shared_name would be the same one.
TEST_F(GraphBuilderTest, KeepsVariablesSeparate) {
  const Attributes attributes = {{"dtype", DType::kFloat}, {"shape", Shape{}}};
  const auto assigned = [&](const char* name, float number) {
    const auto handle = build_.op("VarHandleOp", name, {}, attributes);
    const auto value = build_.constant(std::string(name) + "/value", number);
    const auto assign =
        build_.op("AssignVariableOp", std::string(name) + "/Assign", {handle, value});
    return std::pair(assign, build_.op("ReadVariableOp", std::string(name) + "/Read", {handle},
                                       {{"dtype", DType::kFloat}})[0]);
  };
  const auto [assign_a, read_a] = assigned("a", 1);
  const auto [assign_b, read_b] = assigned("b", 2);
  const auto session = graph_.new_session("");
  session->run({assign_a, assign_b});
  EXPECT_EQ(session->run(read_a).scalar<float>(), 1);
  EXPECT_EQ(session->run(read_b).scalar<float>(), 2);
  Attributes shared = attributes;
  shared.emplace("shared_name", "c");
  build_.op("VarHandleOp", "of_another_name", {}, shared);
  EXPECT_THAT([&] { build_.variable("c", Tensor::scalar(1.0f)); },
              ThrowsMessage<AlreadyExistsError>(HasSubstr("of_another_name")));
}

TEST_F(GraphBuilderTest, RejectsAVariableThatWouldNotBeTheGlobalStep) {
  EXPECT_THAT([&] { build_.variable("global_step", Tensor::scalar(int64_t{0})); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("call create_global_step(graph)")));
  create_global_step(graph_);
  EXPECT_TRUE(graph_.global_step());
}

TEST_F(GraphBuilderTest, CountsSteps) {
  EXPECT_FALSE(graph_.global_step());
  EXPECT_THROW(increment_global_step(graph_), FailedPreconditionError);
  const Output step = get_or_create_global_step(graph_);
  EXPECT_EQ(graph_.global_step(), step);
  EXPECT_THROW(create_global_step(graph_), AlreadyExistsError);
  const auto noop = build_.group("body", {});
  const Operation one = increment_global_step(graph_, 1, {noop});
  const Operation ten = increment_global_step(graph_, 10);
  const auto handle = graph_.operation("global_step");
  const auto five =
      build_.op("AssignAddVariableOp", "five", {handle, build_.constant("5", int64_t{5})});
  const auto session = initialized_session(graph_);
  EXPECT_EQ(session->run({step, one})[0].scalar<int64_t>(), 0);
  for (int i = 0; i < 20; ++i) {
    const int64_t before = read_global_step(*session);
    EXPECT_EQ(session->run({five, step})[1].scalar<int64_t>(), before);
    EXPECT_EQ(session->run({step, ten})[0].scalar<int64_t>(), before + 5);
  }
}

// It would share its value with the other variable.
TEST_F(GraphBuilderTest, RejectsAGlobalStepWhoseNameIsSharedByAnotherVariable) {
  build_.op("VarHandleOp", "other", {},
            {{"dtype", DType::kInt64}, {"shape", Shape{}}, {"shared_name", "global_step"}});
  EXPECT_THAT([&] { create_global_step(graph_); },
              ThrowsMessage<AlreadyExistsError>(HasSubstr("other")));
  EXPECT_EQ(graph_.find_operation("global_step"), nullptr);
}

TEST_F(GraphBuilderTest, AddsToImportedGraphs) {
  for (const char* const name : {"contract_resource", "contract_reference"}) {
    InitializedGraph it(name);
    GraphBuilder build(it.graph);
    const auto twice =
        build.op("Mul", "twice", {it.variable("vector"), build.constant("two", int64_t{2})});
    const Operation more = increment_global_step(it.graph, 3);
    const auto added = build.variable("added", Tensor::scalar(4.0f));
    EXPECT_THROW(build.variable("matrix", Tensor::scalar(1.0f)), AlreadyExistsError);
    const Output init = it.graph.default_ready_op();
    EXPECT_EQ(it.session->run(twice[0]).tensor(), Tensor::from<int64_t>({14, 16}));
    EXPECT_EQ(it.session->run({more, it.graph.global_step()})[1].scalar<int64_t>(), 0);
    EXPECT_EQ(read_global_step(*it.session), 3);
    EXPECT_EQ(it.session->run(init).tensor(), Tensor::from({"added"}));
    it.session->run(GraphBuilder::initializer(added));
    EXPECT_EQ(it.value("added"), Tensor::scalar(4.0f));
  }
}

TEST_F(GraphBuilderTest, RejectsInvalidOperations) {
  const auto a = build_.constant("a", 1.0f);
  const auto i = build_.constant("i", 1);
  const auto m = build_.constant("m", Tensor::zeros<float>({2, 3}));
  EXPECT_THAT([&] { build_.op("MatMull", "b", {a}); },
              ThrowsMessage<NotFoundError>(AllOf(HasSubstr("\"b\""), HasSubstr("MatMull"))));
  for (const char* const type : {"_Arg", "_Send", "_Retval"})
    EXPECT_THROW(build_.op(type, "b"), InvalidArgumentError) << type;
  const auto expect_refused = [&](const char* type, const std::vector<OpInput>& inputs,
                                  const Attributes& attributes, const char* cause) {
    EXPECT_THAT([&] { build_.op(type, "b", inputs, attributes); },
                ThrowsMessage<InvalidArgumentError>(
                    AllOf(HasSubstr("operation \"b\""), HasSubstr(type), HasSubstr(cause))))
        << type;
    EXPECT_EQ(graph_.find_operation("b"), nullptr);
  };
  expect_refused("Add", {a}, {}, "1 inputs specified of 2");
  expect_refused("Neg", {a, a}, {}, "More Input() calls");
  expect_refused("Add", {a, i}, {}, "DT_FLOAT vs. DT_INT32");
  expect_refused("Cast", {a}, {}, "DstT");
  expect_refused("Neg", {a}, {{"speed", 1}}, "speed");
  expect_refused("Cast", {a}, {{"DstT", 1}}, "DstT");
  expect_refused("LeakyRelu", {a}, {{"alpha", 1}}, "alpha");
  expect_refused("MatMul", {m, m}, {}, "Dimensions must be equal");
  expect_refused("MatMul", {a, m}, {}, "rank 2");
  expect_refused("MaxPool", {m}, {{"ksize", {1}}, {"strides", {1}}, {"padding", "SAME"}}, "");
  EXPECT_EQ(run(a), Tensor::scalar(1.0f));
}

TEST_F(GraphBuilderTest, RejectsHarmfulAttributes) {
  EXPECT_THROW(build_.op("NoOp", "b", {}, {{"_class", {"loc:@nothing"}}}), InvalidArgumentError);
  EXPECT_THROW(build_.placeholder("b", DType::kInvalid), InvalidArgumentError);
  EXPECT_THROW(build_.placeholder("b", static_cast<DType>(1000)), InvalidArgumentError);
  const Shape deep(std::vector<int64_t>(255, 1));
  EXPECT_THROW(build_.placeholder("b", DType::kFloat, deep), InvalidArgumentError);
  EXPECT_THROW(
      build_.op("FIFOQueueV2", "b", {}, {{"component_types", {DType::kFloat}}, {"shapes", {deep}}}),
      InvalidArgumentError);
  EXPECT_THROW(build_.constant("b", Tensor::zeros<float>(deep)), InvalidArgumentError);
  EXPECT_NO_THROW(
      build_.placeholder("deepest", DType::kFloat, Shape(std::vector<int64_t>(254, 1))));
  EXPECT_NO_THROW(run(build_.constant("c", 1)));
}

TEST_F(GraphBuilderTest, RejectsNamesThatTensorFlowCannotRun) {
  build_.group("taken", {});
  for (const char* const name :
       {"", "a b", "a:0", "/a", "_a", "_SOURCE", "crochet/init", "a\n", "ä"})
    EXPECT_THROW(build_.group(name, {}), InvalidArgumentError) << name;
  EXPECT_THROW(build_.group(std::string("a\0b", 3), {}), InvalidArgumentError);
  EXPECT_THROW(build_.group("taken", {}), AlreadyExistsError);
  EXPECT_THROW(build_.variable("taken", Tensor::scalar(1)), AlreadyExistsError);
  EXPECT_THROW(graph_.group("_a", {}), InvalidArgumentError);
  EXPECT_NO_THROW(run(build_.constant("c", 1)));
}

TEST_F(GraphBuilderTest, RejectsOutputsOfOtherGraphs) {
  Graph other;
  GraphBuilder build_other(other);
  const Output foreign = build_other.constant("foreign", 1);
  const Variable foreign_variable = build_other.variable("v", Tensor::scalar(1.0f));
  const auto a = build_.constant("a", 1);
  const std::string cause = "is of another graph";
  EXPECT_THAT(
      [&] {
        build_.op("Add", "b", {a, foreign});
      },
      ThrowsMessage<InvalidArgumentError>(
          AllOf(HasSubstr("\"b\": input 1, foreign:0"), HasSubstr(cause))));
  EXPECT_THAT(
      [&] {
        build_.op("Pack", "b", {{a, foreign}});
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr(cause)));
  EXPECT_THAT([&] { build_.group("b", {foreign}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr(cause)));
  EXPECT_THAT([&] { build_.constant("b", 1, {.colocate_with = foreign}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr(cause)));
  EXPECT_THAT([&] { build_.op("Neg", "b", {foreign_variable}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr(cause)));
  EXPECT_THAT([&] { build_.variable("b", foreign); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr(cause)));
  EXPECT_THROW(build_.op("Neg", "b", {Output()}), InvalidArgumentError);
  EXPECT_THROW(build_.op("Neg", "b", {Output(a.operation(), 1)}), InvalidArgumentError);
  const auto split =
      build_.op("Split", "split", {a, build_.constant("x", Tensor::zeros<float>({2, 2}))},
                {{"num_split", 2}});
  EXPECT_THAT([&] { build_.op("Neg", "b", {split}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("split[0]")));
  EXPECT_EQ(graph_.find_operation("b"), nullptr);
}

TEST_F(GraphBuilderTest, RejectsAllChangesOnceFinalized) {
  const auto a = build_.constant("a", 1.0f);
  const auto v = build_.variable("v", Tensor::scalar(1.0f));
  get_or_create_global_step(graph_);
  const size_t size = graph_.operation_names().size();
  graph_.finalize();
  EXPECT_THAT([&] { build_.constant("b", 1); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("\"b\"")));
  EXPECT_THROW(build_.variable("b", Tensor::scalar(1)), FailedPreconditionError);
  EXPECT_THROW(build_.scalar_summary("b", a), FailedPreconditionError);
  EXPECT_THROW(build_.gradients("b", {v}, {v}), FailedPreconditionError);
  EXPECT_THROW(build_.gradient_descent("b", v, {.learning_rate = 1}), FailedPreconditionError);
  EXPECT_THROW(increment_global_step(graph_), FailedPreconditionError);
  EXPECT_EQ(graph_.operation_names().size(), size);
}

TEST_F(GraphBuilderTest, CollectsSummaries) {
  const auto scalar = build_.scalar_summary("loss", build_.constant("a", 1.0f));
  const auto histogram =
      build_.histogram_summary("weights", build_.constant("b", std::vector{1.0f, 2.0f}));
  EXPECT_THAT(graph_.collection(kSummariesCollection), ElementsAre(scalar, histogram));
  const Tensor summary = run(scalar);
  EXPECT_THAT(summary.strings()[0], HasSubstr("loss"));
  EXPECT_EQ(run(histogram).dtype(), DType::kString);
}

// For a reference variable, TensorFlow returns the variable's own memory.
TEST_F(GraphBuilderTest, ReturnsNoMemoryThatChanges) {
  const auto v = build_.op("VariableV2", "v", {}, {{"dtype", DType::kFloat}, {"shape", Shape{64}}});
  const auto zeros = build_.constant("zeros", Tensor::zeros<float>({64}));
  const auto assign = build_.op("Assign", "assign", {v, zeros});
  const auto add = build_.op("AssignAdd", "add",
                             {v, build_.constant("ones", Tensor::from(std::vector<float>(64, 1)))});
  const auto session = graph_.new_session("");
  session->run(Output(assign));
  const Tensor held = session->run(v[0]).tensor();
  session->run(Output(add));
  EXPECT_EQ(held, Tensor::zeros<float>({64}));
}

TEST_F(GraphBuilderTest, AnEmptyGraphNeedsNoInitialization) {
  EXPECT_THAT(graph_.operation_names(), IsEmpty());
  EXPECT_TRUE(graph_.starts_initialized());
  EXPECT_FALSE(graph_.default_init_op());
  EXPECT_FALSE(graph_.default_ready_op());
  EXPECT_FALSE(graph_.default_local_init_op());
  EXPECT_FALSE(graph_.global_step());
  EXPECT_EQ(graph_.meta_graph(), nullptr);
  EXPECT_FALSE(graph_.new_session("")->run({}));
}

// The graph that a saver stores with the checkpoint.
TEST_F(GraphBuilderTest, IsImportedAgain) {
  const auto v = build_.variable("v", Tensor::scalar(1.0f));
  build_.variable("local", Tensor::scalar(5.0f), {.local = true});
  create_global_step(graph_);
  build_.gradient_descent("descend", v, {.learning_rate = 0.25});
  const auto train = increment_global_step(graph_, 1, {graph_.operation("descend")});
  graph_.add_to_collection("train_op", train);
  graph_.add_to_collection(kReadyOpCollection, graph_.default_ready_op());
  build_.scalar_summary("curves/v", v);
  const std::shared_ptr<const std::string> bytes = graph_.meta_graph();
  EXPECT_EQ(graph_.meta_graph(), bytes);

  Graph imported = Graph::from_meta_graph(*bytes, "built");
  EXPECT_THAT(imported.collection("train_op"),
              ElementsAre(imported.operation("increment_global_step")));
  EXPECT_THAT(imported.collection(kSummariesCollection), ElementsAre(imported.output("curves/v")));
  EXPECT_EQ(imported.variables().size(), 2);
  const Output init = imported.default_init_op();
  const Output local_init = imported.default_local_init_op();
  const Output ready = imported.collection(kReadyOpCollection).at(0);
  const auto session = imported.new_session("");
  EXPECT_EQ(session->run(ready).tensor(), Tensor::from({"v", "global_step", "local"}));
  session->run({init, local_init});
  EXPECT_EQ(session->run({imported.global_step(), imported.operation("increment_global_step")})[0]
                .scalar<int64_t>(),
            0);
  EXPECT_EQ(read_global_step(*session), 1);
  EXPECT_EQ(session->run("v/Read/ReadVariableOp").scalar<float>(), 0.75);

  build_.group("more", {});
  EXPECT_NE(*graph_.meta_graph(), *bytes);
  EXPECT_NE(Graph::from_meta_graph(*graph_.meta_graph(), "built").find_operation("more"), nullptr);
}

// A graph of another engine.
class OtherGraph : public crochet::Graph {
 public:
  std::unique_ptr<crochet::Session> new_session(const std::string&, const SessionConfig&) override {
    return nullptr;
  }
  const OperationInfo* find_operation(std::string_view) const override { return nullptr; }
  std::vector<std::string> operation_names() const override { return {}; }
  std::vector<Variable> variables() const override { return {}; }
};

TEST_F(GraphBuilderTest, RejectsAGraphOfAnotherEngine) {
  OtherGraph other;
  EXPECT_THROW(GraphBuilder{other}, InvalidArgumentError);
  const VariableInfo info = {.graph = &other, .name = "v", .dtype = DType::kFloat, .shape = {}};
  EXPECT_THROW(GraphBuilder::value(Variable(&info)), InvalidArgumentError);
  EXPECT_THROW(GraphBuilder::value(Variable()), InvalidArgumentError);
}

TEST_F(GraphBuilderTest, RejectsPartitionedVariables) {
  InitializedGraph it("kinds");
  EXPECT_THAT([&] { GraphBuilder::value(it.variable("parts")); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("parts")));
}

}  // namespace
}  // namespace crochet::tensorflow
