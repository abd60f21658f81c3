// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/session.h"

#include <algorithm>
#include <atomic>
#include <latch>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "crochet/base/error.h"
#include "crochet/crochet.h"
#include "crochet/engines/tensorflow/builder/graph_builder.h"
#include "crochet/engines/tensorflow/internal/graph_saver.h"
#include "crochet/testing/temp_directory.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet::tensorflow {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor filled(float value) {
  Tensor tensor(DType::kFloat, {64});
  for (float& element : tensor.mutable_flat<float>()) element = value;
  return tensor;
}

class KindsTest : public testing::Test {
 protected:
  void assign(const std::string& name, const Tensor& value) const {
    tensorflow::assign(*it_.session, name, value);
  }
  Operation operation(const std::string& name) { return it_.graph.operation(name); }

  InitializedGraph it_{"kinds"};
};

TEST_F(KindsTest, NamesTheOperationThatFailed) {
  const Feeds feeds = {{it_.graph.output("left"), Tensor::zeros<float>({2, 3})},
                       {it_.graph.output("right"), Tensor::zeros<float>({2, 3})}};
  EXPECT_THAT([&] { it_.session->run("product", feeds); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(HasSubstr("run of product:0: operation \"product\": "),
                        HasSubstr("Matrix size-incompatible"))));
}

TEST_F(KindsTest, RejectsOtherTargets) {
  for (const char* const target : {"local", "nonsense", "localhost:2222"})
    EXPECT_THAT([&] { it_.graph.new_session(target); },
                ThrowsMessage<UnimplementedError>(HasSubstr(target)));
  for (const char* const target : {"grpc://", "grpc://localhost", "grpc://a:b", "grpc://a:0"})
    EXPECT_THROW(it_.graph.new_session(target), InvalidArgumentError) << target;
}

TEST_F(KindsTest, HasNoValuesUntilInitialized) {
  const auto session = it_.graph.new_session("");
  EXPECT_THAT([&] { session->run("read_resource"); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("uninitialized")));
  EXPECT_THROW(session->snapshot(it_.graph.variables()), FailedPreconditionError);
}

TEST_F(KindsTest, SnapshotsAndAssignsEveryKind) {
  const std::vector<std::pair<std::string, Tensor>> values = {
      {"global_step", Tensor::scalar<int64_t>(41)},
      {"resource", filled(3)},
      {"reference", filled(4)},
      {"flag", Tensor::scalar(false)},
      {"half",
       [] {
         Tensor tensor(DType::kHalf, {2});
         for (std::byte& byte : tensor.mutable_bytes()) byte = std::byte{0x3c};
         return tensor;
       }()},
      {"words", Tensor::from({"dog", std::string(50, 'x')})},
      {"parts", Tensor::from<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {5, 3})},
      {"reference_parts",
       Tensor::from<float>({15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, {5, 3})},
      {"twin_a", Tensor::from<float>({5, 6})},
      {"twin_b", Tensor::from<float>({7, 8})},
      {"grown", Tensor::from<float>({1, 2, 3, 4}, {2, 2})}};
  std::vector<Assignment> assignments;
  std::vector<Variable> variables;
  for (const auto& [name, value] : values) {
    variables.push_back(it_.variable(name));
    assignments.push_back(assignment(variables.back(), value));
  }
  const auto session = it_.graph.new_session("");  // Assigned without being initialised.
  session->assign(assignments);
  const std::vector<NamedTensor> found = session->snapshot(variables).tensors();
  ASSERT_EQ(found.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(found[i].name, values[i].first);
    EXPECT_EQ(found[i].tensor, values[i].second) << values[i].first;
  }
}

TEST_F(KindsTest, JoinsPartsAsTensorFlowDoes) {
  const Tensor whole = it_.value("parts");
  const auto rows = [&](int64_t first, int64_t last) {
    return Tensor::from(whole.flat<float>().subspan(static_cast<size_t>(first * 3),
                                                    static_cast<size_t>((last - first) * 3)),
                        {last - first, 3});
  };
  const auto part = [&](int index) {
    for (const VariableDef& definition : it_.graph.definition().variables.at("variables"))
      if (definition.variable_name == fmt::format("parts/part_{}:0", index))
        return it_.session->run(definition.snapshot_name).tensor();
    return Tensor();
  };
  EXPECT_EQ(part(0), rows(0, 3));
  EXPECT_EQ(part(1), rows(3, 5));
  EXPECT_NE(whole.flat<float>()[0], 0);
}

TEST_F(KindsTest, ChecksShapesThatTensorFlowDoesNot) {
  EXPECT_THAT(
      [&] {
        assign("resource", Tensor::zeros<float>({2, 2}));
      },
      ThrowsMessage<InvalidArgumentError>(
          "variable \"resource\": found shape [2,2], expected [64]"));
  EXPECT_EQ(it_.value("resource"), filled(1));
}

TEST_F(KindsTest, NeverChangesAHeldSnapshot) {
  for (const auto& [name, read] :
       {std::pair<std::string, std::string>{"resource", "resource/Read/ReadVariableOp"},
        {"reference", "reference/read"}}) {
    const Tensor before = it_.value(name);
    const Tensor fetched = it_.session->run(read).tensor();
    it_.session->run(operation("change_" + name));
    EXPECT_EQ(before, filled(1)) << name;
    EXPECT_EQ(fetched, filled(1)) << name;
    EXPECT_EQ(it_.value(name), filled(0.75)) << name;
  }
}

// A variable shares the memory of the tensor that is assigned to it.
TEST_F(KindsTest, NeverChangesFedTensors) {
  const Tensor value = filled(8);
  for (const std::string name : {"resource", "reference"}) {
    it_.session->run(operation(name + "/Assign"), {{it_.graph.output(name + "_initial"), value}});
    it_.session->run(operation("change_" + name));
    EXPECT_EQ(it_.value(name), filled(7.75)) << name;
    EXPECT_EQ(value, filled(8)) << name;
  }
}

// In the middle of each step, between two changes, the training thread waits for the feeding one.
TEST_F(KindsTest, SnapshotsAndAssignsBetweenStepsWhileOthersTrain) {
  constexpr int kSteps = 60;
  constexpr int kOtherRuns = 10;
  std::atomic<bool> is_done = false;
  std::thread feeder([&] {
    for (int step = 0; step < kSteps; ++step) {
      for (int i = 0; i < kOtherRuns; ++i) it_.session->run("looked_up");
      it_.session->run(operation("enqueue"));
    }
  });
  std::thread trainer([&] {
    const Fetches step = {operation("change_reference"), operation("hanging_change")};
    for (int i = 0; i < kSteps; ++i) it_.session->run(step);
    is_done = true;
  });
  const std::vector<Variable> variables = {it_.variable("resource"), it_.variable("reference")};
  const std::vector<Assignment> eights = {assignment(variables[0], filled(8)),
                                          assignment(variables[1], filled(8))};
  const auto expect_one_step = [&] {
    const std::vector<NamedTensor> tensors = it_.session->snapshot(variables).tensors();
    const float first = tensors[0].tensor.flat<float>()[0];
    for (const NamedTensor& tensor : tensors)
      EXPECT_THAT(tensor.tensor.flat<float>(), Each(first)) << tensor.name;
  };
  do {
    expect_one_step();
    it_.session->assign(eights);
  } while (!is_done);
  trainer.join();
  feeder.join();
  expect_one_step();
}

TEST_F(KindsTest, FreesTheMemoryOfFedStrings) {
  const Tensor strings = Tensor::from(std::vector<std::string>(2, std::string(10'000, 'x')), {2});
  assign("words", strings);
  const size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 200; ++i) assign("words", strings);
  EXPECT_LT(mallinfo2().uordblks, before + 1'000'000);  // 4 MB were fed.
}

// A restore reads files; it blocks nobody, nor does it wait for itself.
TEST_F(KindsTest, AllowsCallsFromWithinAFill) {
  Assignment copied = assignment(it_.variable("resource"), filled(0));
  copied.fill = [&](std::span<std::byte> to) {
    it_.session->run(operation("change_resource"));
    const Tensor value = it_.value("resource");
    std::ranges::copy(value.bytes(), to.begin());
    it_.session->run(operation("change_resource"));
  };
  it_.session->assign({&copied, 1});
  EXPECT_EQ(it_.value("resource"), filled(0.75));
}

// "b" is initialised after "a": a run of its initialiser alone would initialise "a" again.
TEST(AssignTest, ChangesNothingElse) {
  Graph built;
  GraphBuilder build(built);
  const Variable first = build.variable("a", Tensor::scalar(1.0f));
  const Variable second = build.variable("b", Tensor::scalar(2.0f));
  build.op("AssignVariableOp", "b/Follow",
           {GraphBuilder::handle(second), build.constant("b/other", 3.0f)}, {},
           {.control_inputs = {GraphBuilder::initializer(first)}});
  // VariableDef.initializer_name.
  Graph graph = Graph::from_meta_graph(replaced(*built.meta_graph(),
                                                "\x12\x08"
                                                "b/Assign",
                                                "\x12\x08"
                                                "b/Follow"),
                                       "x.meta");
  const auto session = initialized_session(graph);
  const Assignment a = assignment(variable_of(graph, "a"), Tensor::scalar(8.0f));
  const Assignment b = assignment(variable_of(graph, "b"), Tensor::scalar(9.0f));
  const auto expect = [&](float first_value, float second_value) {
    EXPECT_EQ(value_of(*session, "a").scalar<float>(), first_value);
    EXPECT_EQ(value_of(*session, "b").scalar<float>(), second_value);
  };
  session->assign({&a, 1});
  expect(8, 3);
  EXPECT_THROW(session->assign({&b, 1}), UnimplementedError);
  expect(8, 3);
  session->assign({{a, b}});
  expect(8, 9);
}

TEST_F(KindsTest, TimesOut) {
  EXPECT_THAT([&] { it_.session->run("dequeue", {}, {.timeout_in_ms = 20}); },
              ThrowsMessage<DeadlineExceededError>(HasSubstr("run of dequeue:0")));
  EXPECT_EQ(it_.session->run("looked_up").tensor().num_elements(), 2);
}

TEST_F(KindsTest, TakesSnapshotsDuringRunsThatHang) {
  std::thread hanging([&] { EXPECT_EQ(it_.session->run("dequeue").scalar<int64_t>(), 3); });
  EXPECT_EQ(it_.value("resource"), filled(1));
  it_.session->run(operation("enqueue"));
  hanging.join();
}

// So do saves by the graph's own operations.
TEST_F(KindsTest, SavesByTheGraphBetweenStepsWhileOthersTrain) {
  constexpr int kSteps = 20;
  std::atomic<bool> is_done = false;
  std::thread feeder([&] {
    for (int step = 0; step < kSteps; ++step) {
      for (int i = 0; i < 10; ++i) it_.session->run("looked_up");
      it_.session->run(operation("enqueue"));
    }
  });
  std::thread trainer([&] {
    const Fetches step = {operation("change_reference"), operation("hanging_change")};
    for (int i = 0; i < kSteps; ++i) it_.session->run(step);
    is_done = true;
  });
  const TempDirectory directory;
  internal::GraphSaver saver(it_.graph);
  do {
    saver.save(*it_.session, directory / "m");
    const CheckpointReader reader(directory / "m");
    EXPECT_EQ(reader.read("resource"), reader.read("reference"));
  } while (!is_done);
  trainer.join();
  feeder.join();
}

TEST_F(KindsTest, EndsRunsThatHangWhenItIsClosed) {
  constexpr int kThreads = 3;
  std::atomic<int> num_ended = 0;
  std::latch begun(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      begun.count_down();
      try {
        it_.session->run(i == 0 ? operation("hanging_change")
                                : Operation(it_.graph.output("dequeue").operation()));
        ADD_FAILURE() << "the run ended without being cancelled";
      } catch (const CancelledError&) {
        ++num_ended;
      } catch (const FailedPreconditionError&) {  // It had not started.
        ++num_ended;
      }
    });
  begun.wait();
  it_.session->close();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_ended, kThreads);
}

TEST_F(KindsTest, TracesARun) {
  RunMetadata metadata;
  it_.session->run("read_resource", {}, {.trace_level = TraceLevel::kFull}, &metadata);
  EXPECT_GT(metadata.start_time, 1e9);
  EXPECT_THAT(metadata.operations,
              Contains(AllOf(Field(&OperationTiming::name, HasSubstr("read_resource")),
                             Field(&OperationTiming::device, HasSubstr("CPU:0")))));
}

// Not an OutOfRangeError, which means that the data ended and would end a loop cleanly.
TEST_F(KindsTest, RejectsOutputsThatDoNotExist) {
  const OperationInfo* const read = it_.graph.find_operation("read_resource");
  for (const int index : {-2, 1, 7}) {
    const Output none(read, index);
    EXPECT_THROW(it_.session->run(none), InvalidArgumentError) << index;
    EXPECT_THROW(it_.session->run("looked_up", {{none, filled(1)}}), InvalidArgumentError) << index;
  }
}

TEST_F(KindsTest, RejectsFetchesWithoutValuesBeforeTheRun) {
  EXPECT_THAT(
      [&] {
        it_.session->run(Fetches::List{operation("change_resource"), operation("resource")[0]});
      },
      ThrowsMessage<UnimplementedError>(AllOf(HasSubstr("resource:0"), HasSubstr("(resource)"))));
  EXPECT_EQ(it_.value("resource"), filled(1));
}

TEST_F(KindsTest, RejectsInvalidSettings) {
  EXPECT_THROW(it_.graph.new_session("", {.serialized = "\xff"}), InvalidArgumentError);
  // ConfigProto.session_inter_op_thread_pool = {num_threads: -1}: it would abort the process.
  const std::string no_pool = "\x62\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  EXPECT_THAT([&] { it_.graph.new_session("", {.serialized = no_pool}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("a pool of -1 threads")));
  // ConfigProto.intra_op_parallelism_threads = 1.
  EXPECT_NO_THROW(it_.graph.new_session("", {.serialized = "\x10\x01"}));
}

TEST_F(KindsTest, RejectsVariablesOfAnotherGraph) {
  InitializedGraph other("contract_resource");
  const Variable foreign = other.variable("vector");
  EXPECT_THROW(it_.session->snapshot({{foreign}}), InvalidArgumentError);
  const Assignment assigned = assignment(foreign, Tensor::from<int64_t>({1, 2}));
  EXPECT_THROW(it_.session->assign({&assigned, 1}), InvalidArgumentError);
}

TEST_F(KindsTest, ATensorOutlivesItsSession) {
  Tensor held;
  {
    InitializedGraph other("kinds");
    held = other.value("resource");
  }
  EXPECT_EQ(held, filled(1));
}

// Names of operations and of variables are requests, as with the local engine.
TEST(SessionNamesTest, RunsOperationsByName) {
  InitializedGraph it("contract_resource");
  EXPECT_FALSE(it.session->run("train").tensor().is_set());
  EXPECT_EQ(it.value("global_step"), Tensor::scalar<int64_t>(1));
  it.session->run(Fetches::List{"train", "train"});
  EXPECT_EQ(it.value("global_step"), Tensor::scalar<int64_t>(2));
  EXPECT_THROW(it.session->run("^train"), NotFoundError);
}

TEST(SessionNamesTest, ReadsVariablesByName) {
  for (const char* const name : {"contract_resource", "contract_reference"}) {
    InitializedGraph it(name);
    // Fetched in the run that increments it, it is the previous step.
    const FetchValues values = it.session->run(Fetches::List{"global_step", "train"});
    EXPECT_EQ(values[0].scalar<int64_t>(), 0) << name;
    EXPECT_EQ(it.session->run("global_step:0").scalar<int64_t>(), 1) << name;
    EXPECT_EQ(it.session->run("vector").tensor(), Tensor::from<int64_t>({7, 8})) << name;
    EXPECT_EQ(it.session->run("probes").scalar<int64_t>(), 0) << name;
  }
}

TEST(SessionNamesTest, AScaffoldAcceptsNamesOfOperations) {
  Graph graph = import_golden("contract_resource");
  const std::vector<Output> initializers = {graph.default_init_op()};
  graph.group("my_init", initializers);
  graph.group("my_local_init", std::vector<Output>{graph.default_local_init_op()});
  const auto scaffold = std::make_shared<Scaffold>();
  scaffold->init_op = "my_init";
  scaffold->local_init_op = Fetches::List{"my_local_init"};
  const RunReport report =
      crochet::train({.graph = graph, .scaffold = scaffold}, [](MonitoredSession& session) {
        session.run("train");
        EXPECT_EQ(session.run("global_step").scalar<int64_t>(), 1);
      });
  EXPECT_EQ(report.last_step, 1);
}

}  // namespace
}  // namespace crochet::tensorflow
