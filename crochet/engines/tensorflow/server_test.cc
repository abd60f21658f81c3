// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <latch>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "crochet/crochet.h"
#include "crochet/engines/tensorflow/sync_replicas_hook.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/temp_directory.h"
#include "tests/tensorflow/test_cluster.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet::tensorflow {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ExitedWithCode;
using testing::HasSubstr;
using testing::ThrowsMessage;

ClusterSpec cluster_of_one(int port) {
  return ClusterSpec({{"worker", {"localhost:" + std::to_string(port)}}});
}

// Accepts connections and never answers, like a suspended process.
class SilentListener {
 public:
  SilentListener() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    socklen_t size = sizeof(address);
    if (bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(socket_, 16) != 0 ||
        getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw UnknownError("cannot create a socket");
    port_ = ntohs(address.sin_port);
  }
  ~SilentListener() { ::close(socket_); }
  int port() const { return port_; }

 private:
  const int socket_;
  int port_ = 0;
};

TEST(ServerTest, WritesAServerDef) {
  const ServerOptions options = {
      .cluster = ClusterSpec({{"ps", {"a:1"}}, {"worker", {"b:2", "c:3"}}}),
      .job_name = "worker",
      .task_index = 1,
      .config = {"\x10\x01"}};
  using namespace std::string_literals;
  EXPECT_EQ(internal::server_definition(options),
            "\x0a\x2b"s
            "\x0a\x0d\x0a\x02ps\x12\x07\x08\x00\x12\x03"s
            "a:1"s
            "\x0a\x1a\x0a\x06worker\x12\x07\x08\x00\x12\x03"s
            "b:2"s
            "\x12\x07\x08\x01\x12\x03"s
            "c:3"s
            "\x12\x06worker\x18\x01\x22\x02\x10\x01\x2a\x04grpc"s);
}

TEST(ServerTest, ReportsItsTarget) {
  EXPECT_GT(test_server().port(), 0);
  EXPECT_EQ(test_server().target(), "grpc://127.0.0.1:" + std::to_string(test_server().port()));
}

TEST(ServerTest, IsOnePerProcess) {
  test_server();
  EXPECT_THAT([] { Server({.cluster = cluster_of_one(0), .job_name = "worker"}); },
              ThrowsMessage<FailedPreconditionError>(
                  HasSubstr("this process is already /job:worker/task:0")));
}

TEST(ServerTest, RejectsInvalidMembersAndSettings) {
  EXPECT_THROW(Server({.cluster = cluster_of_one(0), .job_name = "ps"}), InvalidArgumentError);
  EXPECT_THROW(Server({.cluster = cluster_of_one(0), .job_name = "worker", .task_index = 1}),
               InvalidArgumentError);
  EXPECT_THROW(Server({.cluster = cluster_of_one(0), .job_name = "worker", .config = {"\x0a\x7f"}}),
               InvalidArgumentError);
}

// In separate processes, as each may have only one server.
class ServerDeathTest : public testing::Test {
 protected:
  ServerDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ServerDeathTest, ReportsAPortInUse) {
  EXPECT_EXIT(
      {
        const SilentListener other;
        try {
          Server({.cluster = cluster_of_one(other.port()), .job_name = "worker"});
        } catch (const FailedPreconditionError& error) {
          std::fprintf(stderr, "%s\n", error.what());
          // Nothing was started: with another port it works.
          Server({.cluster = cluster_of_one(0), .job_name = "worker"});
          std::_Exit(3);
        }
        std::_Exit(0);
      },
      ExitedWithCode(3), "server of /job:worker/task:0: port .* is not available: Address already");
}

TEST_F(ServerDeathTest, OutlivesTheObjectAndEndsWithTheProcess) {
  EXPECT_EXIT(
      {
        const std::string target =
            Server({.cluster = cluster_of_one(internal::find_free_port()), .job_name = "worker"})
                .target();
        auto graph = import_golden("scaffold");
        const auto session = graph.new_session(target);
        session->run(graph.operation("init"));
        std::exit(4);  // With an open session.
      },
      ExitedWithCode(4), "");
}

class RemoteSessionTest : public testing::Test {
 protected:
  std::unique_ptr<crochet::Session> new_session(const SessionConfig& config) {
    auto session = it_.graph.new_session(test_server().target(), config);
    session->run({it_.init, it_.local_init});
    return session;
  }
  InitializedGraph it_{"kinds"};
};

TEST_F(RemoteSessionTest, RunsOnTheServer) {
  const auto session = new_session(isolated_config());
  EXPECT_EQ(session->target(), test_server().target());
  const Tensor looked_up = session->run("looked_up").tensor();
  EXPECT_EQ(looked_up.flat<int64_t>()[0], 2);
  RunMetadata metadata;
  session->run("read_resource", {}, {.trace_level = TraceLevel::kFull}, &metadata);
  EXPECT_THAT(metadata.operations,
              testing::Contains(testing::Field(&OperationTiming::device,
                                               HasSubstr("/job:worker/replica:0/task:0"))));
}

// With names for which TensorFlow itself would apply no limit.
TEST_F(RemoteSessionTest, AppliesLimitsForEveryName) {
  const std::string port = std::to_string(test_server().port());
  for (const char* const host : {"localhost", "127.0.0.1"}) {
    const std::string target = fmt::format("grpc://{}:{}", host, port);
    const auto session = it_.graph.new_session(target, isolated_config());
    session->run(it_.init);
    EXPECT_EQ(session->run("read_resource").tensor().num_elements(), 64);
    EXPECT_THROW(it_.graph.new_session(target, cluster_config({.operation_timeout = 300ms})),
                 DeadlineExceededError);
  }
}

TEST_F(ServerDeathTest, KnowsTensorFlowsNameForIt) {
  EXPECT_EXIT(
      {
        const std::string port = std::to_string(internal::find_free_port());
        const std::string own = "127.0.0.1:" + port;
        const Server server({.cluster = ClusterSpec({{"worker", {own}}}), .job_name = "worker"});
        const bool is_right = server.target() == "grpc://localhost:" + port &&
                              internal::target_by_network("grpc://" + own) == server.target() &&
                              internal::target_by_network(server.target()) == server.target();
        std::_Exit(is_right ? 5 : 6);
      },
      ExitedWithCode(5), "");
}

// It would silently run on the other worker.
TEST_F(RemoteSessionTest, RejectsTheGraphOfAnotherWorker) {
  const auto create = [](const char* task) {
    auto graph = Graph::import_meta_graph(golden_path("kinds"), {.task = task});
    graph.new_session(test_server().target(), isolated_config());
  };
  EXPECT_THAT([&] { create("/job:worker/task:7"); },
              ThrowsMessage<FailedPreconditionError>(
                  AllOf(HasSubstr("on /job:worker/task:7"), HasSubstr("ImportOptions::task"))));
  EXPECT_NO_THROW(create("/job:worker/task:0"));
  EXPECT_NO_THROW(create("/job:other/task:7"));
}

TEST_F(RemoteSessionTest, SnapshotsAndAssignsAcrossTheNetwork) {
  const auto session = new_session(isolated_config());
  const std::vector<Variable> variables = it_.graph.variables();
  const auto values = [&] {
    std::vector<Tensor> tensors;
    for (const NamedTensor& value : session->snapshot(variables).tensors())
      tensors.push_back(value.tensor);
    return tensors;
  };
  const std::vector<Tensor> initial = values();
  session->run({it_.graph.operation("change_resource"), it_.graph.operation("change_reference")});
  EXPECT_NE(values(), initial);
  std::vector<Assignment> assignments;
  for (size_t i = 0; i < variables.size(); ++i)
    assignments.push_back(assignment(variables[i], initial[i]));
  session->assign(assignments);
  EXPECT_EQ(values(), initial);
}

// The graph's own saver writes parts separately, crochet's writes a variable as a whole.
TEST_F(RemoteSessionTest, IsSavedByTheGraphUnlessCrochetIsRequested) {
  const LogCapture log;
  const TempDirectory directory;
  const auto is_saved_by_graph = [&](crochet::Session& session, StateWriter writer) {
    Saver saver({.writer = writer, .unsaved_state = UnsavedState::kWarn});
    const std::string prefix = saver.save(session, directory / "m", 1);
    EXPECT_TRUE(FileSystem::posix().exists(prefix + ".json"));
    const CheckpointReader reader(prefix);
    reader.verify();
    return reader.tensors().at("parts").num_slices == 2;
  };
  const auto session = new_session(isolated_config());
  EXPECT_FALSE(is_saved_by_graph(*session, StateWriter::kCrochet));
  EXPECT_FALSE(log.contains("graph's own operations"));
  EXPECT_TRUE(is_saved_by_graph(*session, StateWriter::kDefault));
  EXPECT_TRUE(log.contains("written by the graph's own operations: in a cluster"));
  EXPECT_TRUE(is_saved_by_graph(*session, StateWriter::kGraph));
  EXPECT_FALSE(is_saved_by_graph(*it_.session, StateWriter::kDefault));
}

// Neither of them changes a variable's shape.
TEST_F(RemoteSessionTest, RejectsACheckpointOfAnotherShape) {
  const TempDirectory directory;
  const auto session = new_session(isolated_config());
  const auto values = [&] { return session->snapshot(it_.graph.variables()).tensors(); };
  const std::vector<NamedTensor> before = values();
  const auto writer = new_checkpoint_writer(CheckpointFormat::kTensorBundle, FileSystem::posix(),
                                            directory / "m-1");
  for (const auto& [name, tensor] : before)
    writer->add(name, name == "resource" ? Tensor::zeros<float>({65}) : tensor);
  writer->finish();
  for (const StateWriter by : {StateWriter::kDefault, StateWriter::kCrochet})
    EXPECT_THAT([&] { Saver({.writer = by}).restore(*session, directory / "m-1"); },
                ThrowsMessage<InvalidArgumentError>(
                    HasSubstr("\"resource\" is float32 [65] in the checkpoint and float32 [64]")));
  const std::vector<NamedTensor> after = values();
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i].tensor, before[i].tensor);
}

TEST_F(RemoteSessionTest, LeavesTheVariablesOfTheCluster) {
  auto graph = import_golden("scaffold");
  const SessionConfig config = cluster_config({.device_filters = {"/job:worker"}});
  const auto first = graph.new_session(test_server().target(), config);
  first->run(graph.operation("init"));
  first->close();
  EXPECT_THROW(first->run(graph.operation("init")), FailedPreconditionError);
  const auto second = graph.new_session(test_server().target(), config);
  EXPECT_EQ(second->snapshot(graph.variables()).tensors().size(), 2U);
}

TEST_F(RemoteSessionTest, NamesAbsentMembers) {
  const SessionConfig all = cluster_config({.operation_timeout = 300ms});
  EXPECT_THAT(
      [&] { it_.graph.new_session(test_server().target(), all); },
      ThrowsMessage<DeadlineExceededError>(AllOf(
          HasSubstr(test_server().target()), HasSubstr("within 0.3 s"),
          HasSubstr("absent: /job:absent/task:0 at 127.0.0.1:"), HasSubstr("Connection refused"))));
}

TEST_F(RemoteSessionTest, TimesOutIfNobodyListensOrAnswers) {
  const SilentListener silent;
  for (const int port : {internal::find_free_port(), silent.port()}) {
    const std::string target = "grpc://127.0.0.1:" + std::to_string(port);
    EXPECT_THAT([&] { it_.graph.new_session(target, isolated_config(300ms)); },
                ThrowsMessage<Error>(HasSubstr(target)));
  }
}

// The limit applies to runs without their own.
TEST_F(RemoteSessionTest, EndsRunsThatHang) {
  const auto session = new_session(isolated_config(2s));
  EXPECT_THAT([&] { session->run("dequeue"); },
              ThrowsMessage<DeadlineExceededError>(AllOf(HasSubstr("run of dequeue:0"),
                                                         HasSubstr(test_server().target()),
                                                         HasSubstr("no answer within 2 s"))));
  // A run's own limit.
  EXPECT_THAT([&] { session->run("dequeue", {}, {.timeout_in_ms = 300}); },
              ThrowsMessage<DeadlineExceededError>(HasSubstr("no answer within 0.3 s")));
  EXPECT_EQ(session->run("looked_up").tensor().num_elements(), 2);
}

TEST_F(RemoteSessionTest, ClosesDuringRunsThatHang) {
  const auto session = new_session(isolated_config());
  std::latch begun(1);
  std::thread hanging([&] {
    begun.count_down();
    EXPECT_THROW(session->run("dequeue"), Error);
  });
  begun.wait();
  session->close();
  hanging.join();
}

// The chief's thread waits for gradients when the run ends: that does not block the end.
TEST(SyncReplicasTest, TrainsInSteps) {
  const LogCapture log;
  const TempDirectory directory;
  for (const int64_t last_step : {3, 5}) {
    auto graph = Graph::import_meta_graph(golden_path("sync"), {.task = "/job:worker/task:0"});
    EXPECT_TRUE(graph.other_state().empty());
    const RunReport report =
        crochet::train({.graph = graph,
                        .master = test_server().target(),
                        .checkpoint_dir = directory / "run",
                        .hooks = {SyncReplicasHook(), StopAtStepHook({.last_step = last_step})},
                        .config = cluster_config({.device_filters = {"/job:worker"}})},
                       [&](MonitoredSession& session) {
                         while (!session.should_stop()) session.run("train");
                       });
    EXPECT_GE(report.last_step, last_step);
    const CheckpointReader reader(*latest_checkpoint(FileSystem::posix(), directory / "run"));
    const auto step = static_cast<float>(reader.read("global_step").scalar<int64_t>());
    EXPECT_EQ(reader.read("sync_w"), Tensor::from<float>({1 - step / 2, 2 - step / 2}));
  }
  EXPECT_FALSE(log.contains("threads still running"));
}

TEST(SyncReplicasTest, NamesMissingCollections) {
  Graph graph = import_golden("contract_resource");
  SyncReplicasHook hook;
  EXPECT_THAT([&] { hook.begin(graph); },
              ThrowsMessage<FailedPreconditionError>(
                  AllOf(HasSubstr("sync_replicas/chief_init_op"), HasSubstr("sync_replicas.py"))));
}

TEST_F(RemoteSessionTest, RejectsInvalidSettings) {
  EXPECT_THROW(it_.graph.new_session(test_server().target(), {"\xff"}), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet::tensorflow
