// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs scenarios of scenario.py: one on each line of stdin, its trace on a line of stdout.
//
//   scenario_program <empty directory> [<graph.meta> <file of a serialized ConfigProto>]
//
// With a graph, in TensorFlow's engine. The trace is compared with that of reference.py, so both
// write the same words.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/engines/local/graph.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/hooks/feed_fn_hook.h"
#include "crochet/hooks/final_ops_hook.h"
#include "crochet/hooks/global_step_waiter_hook.h"
#include "crochet/hooks/logging_tensor_hook.h"
#include "crochet/hooks/nan_tensor_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/monitored_training_session.h"
#include "crochet/session/graph.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/training/coordinator.h"
#include "crochet/training/monitored_session.h"
#ifdef WITH_TENSORFLOW
#include "crochet/engines/tensorflow/graph.h"
#endif

using namespace crochet;
using nlohmann::json;

namespace {

struct PlainError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::exception_ptr make_error(const std::string& name) {
  const std::string text = "scripted: " + name;
  if (name == "aborted") return std::make_exception_ptr(AbortedError(text));
  if (name == "unavailable") return std::make_exception_ptr(UnavailableError(text));
  if (name == "out_of_range") return std::make_exception_ptr(OutOfRangeError(text));
  if (name == "stop_iteration") return std::make_exception_ptr(StopIteration());
  if (name == "data_loss") return std::make_exception_ptr(DataLossError(text));
  if (name == "cancelled") return std::make_exception_ptr(CancelledError(text));
  if (name == "plain") return std::make_exception_ptr(PlainError(text));
  throw std::logic_error("unknown error " + name);
}

std::string name_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const AbortedError&) {
    return "aborted";
  } catch (const UnavailableError&) {
    return "unavailable";
  } catch (const OutOfRangeError&) {
    return "out_of_range";
  } catch (const StopIteration&) {
    return "stop_iteration";
  } catch (const DataLossError&) {
    return "data_loss";
  } catch (const CancelledError&) {
    return "cancelled";
  } catch (const PlainError&) {
    return "plain";
  } catch (const NanLossDuringTrainingError&) {
    return "nan";
  } catch (const FailedPreconditionError&) {
    return "precondition";
  } catch (const InvalidArgumentError&) {
    return "invalid";
  } catch (const std::exception& error) {
    return std::string("other: ") + error.what();
  }
}

std::string number(double value) { return fmt::format("{:.6g}", value); }

// "-" for nothing, "[a,b]" for a list.
std::string text_of(const FetchValues& values) {
  if (const FetchValues::List* const list = values.as_list()) {
    std::vector<std::string> parts;
    for (const FetchValues& value : *list) parts.push_back(text_of(value));
    return fmt::format("[{}]", fmt::join(parts, ","));
  }
  const Tensor* const tensor = values.as_tensor();
  if (tensor == nullptr || !tensor->is_set()) return "-";
  return tensor->dtype() == DType::kInt64 ? fmt::format("{}", tensor->scalar<int64_t>())
                                          : number(tensor->scalar<float>());
}

constexpr int64_t kFirstNan = 3;  // The loss is NaN in runs that begin at this step or later.

std::unique_ptr<crochet::Graph> make_local_graph() {
  auto made = std::make_unique<local::Graph>();
  local::Graph& graph = *made;
  const auto step = graph.create_global_step();
  const auto x = graph.variable("x", Tensor::scalar(0.0f));
  const auto y = graph.op("y", {x}, [](float value) { return value; });
  const auto loss =
      graph.op("loss", {step}, [](int64_t now) { return now >= kFirstNan ? NAN : 1.0f; });
  for (const int64_t steps : {1, 3}) {
    const auto grow =
        graph.op(fmt::format("grow_{}", steps), {y, update(x)},
                 [steps](float, float& value) { value += 1.5f * static_cast<float>(steps); });
    graph.group(steps == 1 ? "train" : "big",
                {grow, increment_global_step(graph, steps, {loss, Output(grow)})});
  }
  const auto p = graph.placeholder<float>("p", {});
  graph.op("fed", {p}, [](float value) { return 2 * value; });
  return made;
}

class Run;

// The engine's session, of which steps fail as scripted.
class FailingSession final : public Session {
 public:
  FailingSession(Run& run, std::unique_ptr<Session> inner) : run_(run), inner_(std::move(inner)) {}
  Graph& graph() const override { return inner_->graph(); }
  const std::string& target() const override { return inner_->target(); }
  void run_into(std::span<const Output> fetches, const Feeds& feeds, std::span<Tensor> results,
                const RunOptions& options, RunMetadata* metadata) override;
  Snapshot snapshot(std::span<const Variable> variables) override {
    return inner_->snapshot(variables);
  }
  void assign(std::span<const Assignment> assignments) override { inner_->assign(assignments); }
  void close() override { inner_->close(); }

 private:
  Run& run_;
  const std::unique_ptr<Session> inner_;
};

class FailingCreator final : public SessionCreator {
 public:
  FailingCreator(Run& run, std::unique_ptr<SessionCreator> inner)
      : run_(run), inner_(std::move(inner)) {}
  Graph& graph() const override { return inner_->graph(); }
  CreatedSession create_session() override {
    return {std::make_unique<FailingSession>(run_, inner_->create_session().session)};
  }

 private:
  Run& run_;
  const std::unique_ptr<SessionCreator> inner_;
};

// One scenario.
class Run {
 public:
  Run(const json& scenario, std::string directory, std::unique_ptr<Graph> graph,
      SessionConfig config)
      : scenario_(scenario),
        directory_(std::move(directory)),
        graph_(std::move(graph)),
        config_(std::move(config)) {}

  json result() {
    if (scenario_["directory"]) std::filesystem::create_directory(directory_);
    write_restored();
    try {
      run();
      note("exit clean");
    } catch (...) {
      note("exit " + name_of(std::current_exception()));
      is_clean_ = false;
    }
    if (is_clean_ && num_errors_told_ > 0 && scenario_["scope"])
      note("on_error was called, and no error was thrown");
    if (!graph_open_at_end()) note("the graph is still final");
    for (size_t i = 0; i < finals_.size(); ++i)
      note(fmt::format("final{} {}", i, text_of(finals_[i]->final_ops_values())));
    record_checkpoints();
    return trace_;
  }

  void note(const std::string& line) { trace_.push_back(line); }
  Coordinator* coordinator = nullptr;

  // Throws as scripted, before a step of the engine.
  void before_engine_run(std::span<const Output> fetches) {
    const auto is_step = [](const Output& output) {
      const std::string name = to_string(output);
      return name == "train" || name == "big";
    };
    if (std::ranges::none_of(fetches, is_step)) return;
    ++num_steps_;
    for (const json& act : scenario_["step"])
      if (act[0] == num_steps_) std::rethrow_exception(make_error(act[1]));
  }

  // What is scripted for a callback: an error is thrown. True for a stop that the caller requests.
  bool perform(const std::string& what, Session* session) {
    if (what == "stop") return true;
    if (what == "train") {
      if (session != nullptr) session->run("train");
      return false;
    }
    if (what == "coord_stop") {
      if (coordinator != nullptr) coordinator->request_stop({"a thread", "it is enough"});
      return false;
    }
    if (what.starts_with("coord_")) return report(what.substr(6)), false;
    if (what.starts_with("late_")) {
      if (coordinator == nullptr) return false;
      coordinator->start_thread("late", [to = coordinator, error = make_error(what.substr(5))] {
        to->wait_for_stop();
        std::rethrow_exception(error);
      });
      return false;
    }
    std::rethrow_exception(make_error(what));
  }
  void report(const std::string& error) {
    if (coordinator == nullptr) return;
    const auto thread = coordinator->start_thread(
        "reporter", [what = make_error(error)] { std::rethrow_exception(what); });
    thread->wait();
  }
  void tell_error() { ++num_errors_told_; }

 private:
  void run();
  void body(MonitoredSession& session);
  std::string step(MonitoredSession& session, int iteration);
  std::string run_step_fn(MonitoredSession& session, const json& script);
  HookList make_hooks();
  HookHandle make_hook(const json& script, size_t number);
  std::shared_ptr<Scaffold> make_scaffold();
  bool graph_open_at_end() const { return !graph_->finalized() || !scenario_["scope"]; }

  void write_restored() {
    if (scenario_["restored"] < 0) return;
    const int64_t step = scenario_["restored"];
    const auto session = graph_->new_session("", config_);
    if (const Output init = graph_->default_init_op()) session->run(init);
    session->assign_variable("global_step", Tensor::scalar(step));
    session->assign_variable("x", Tensor::scalar(static_cast<float>(step) * 10));
    Saver(SaverOptions{.clock = &clock_}).save(*session, directory_ + "/model.ckpt", step);
    session->close();
  }
  void record_checkpoints() {
    if (!scenario_["directory"]) return;
    for (const std::string& prefix :
         list_checkpoints(FileSystem::posix(), directory_, "model.ckpt")) {
      const CheckpointReader reader(prefix);
      note(fmt::format("checkpoint {} gs={} x={}", prefix.substr(prefix.rfind('-') + 1),
                       reader.read("global_step").scalar<int64_t>(),
                       number(reader.read("x").scalar<float>())));
    }
  }

  const json& scenario_;
  const std::string directory_;
  const std::unique_ptr<Graph> graph_;
  const SessionConfig config_;
  FakeClock clock_;
  const std::shared_ptr<Saver> saver_ =
      std::make_shared<Saver>(SaverOptions{.max_to_keep = 100, .clock = &clock_});
  std::vector<std::string> trace_;
  std::vector<std::shared_ptr<FinalOpsHook>> finals_;
  int num_steps_ = 0;
  int num_inits_ = 0;
  int num_errors_told_ = 0;
  bool is_clean_ = true;
  bool is_closed_ = false;
};

void FailingSession::run_into(std::span<const Output> fetches, const Feeds& feeds,
                              std::span<Tensor> results, const RunOptions& options,
                              RunMetadata* metadata) {
  run_.before_engine_run(fetches);
  inner_->run_into(fetches, feeds, results, options, metadata);
}

std::vector<std::string> acts_of(const json& script, const std::string& callback, int count) {
  std::vector<std::string> found;
  for (const json& act : script["acts"])
    if (act[0] == callback && act[1] == count) found.push_back(act[2]);
  return found;
}

class ScriptedHook final : public SessionRunHook {
 public:
  ScriptedHook(Run& run, const json& script, size_t number)
      : run_(run), script_(script), name_(fmt::format("h{}", number)) {}

  void begin(Graph&) override {
    note("begin", "");
    for (const std::string& what : acts_of(script_, "begin", 1)) run_.perform(what, nullptr);
  }
  void after_create_session(Session& session, Coordinator& coordinator) override {
    run_.coordinator = &coordinator;
    note("created", fmt::format("{} gs={}", ++num_created_, read_global_step(session)));
    for (const std::string& what : acts_of(script_, "created", num_created_))
      if (run_.perform(what, &session)) coordinator.request_stop({name_, "as scripted"});
  }
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override {
    note("before", fmt::format("{} gs={}", ++num_before_, read_global_step(context.session())));
    for (const std::string& what : acts_of(script_, "before", num_before_))
      if (run_.perform(what, &context.session())) context.request_stop("as scripted");
    if (script_["fetch"] == "y") return SessionRunArgs{.fetches = "y"};
    if (script_["fetch"] == "pair") return SessionRunArgs{.fetches = {"y", "loss"}};
    return std::nullopt;
  }
  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    note("after", fmt::format("{} res={} gs={}", ++num_after_, text_of(values.results),
                              read_global_step(context.session())));
    for (const std::string& what : acts_of(script_, "after", num_after_))
      if (run_.perform(what, &context.session())) context.request_stop("as scripted");
  }
  void end(Session& session) override {
    note("end", fmt::format("gs={}", read_global_step(session)));
    for (const std::string& what : acts_of(script_, "end", 1)) run_.perform(what, &session);
  }
  void on_error(std::exception_ptr) override { run_.tell_error(); }

 private:
  void note(const std::string& callback, const std::string& rest) {
    run_.note(fmt::format("{}.{} {}", name_, callback, rest));
  }

  Run& run_;
  const json& script_;
  const std::string name_;
  int num_created_ = 0;
  int num_before_ = 0;
  int num_after_ = 0;
};

class ScriptedListener final : public CheckpointSaverListener {
 public:
  ScriptedListener(Run& run, const json& script) : run_(run), script_(script) {}
  void begin() override {
    run_.note("listener.begin");
    perform("begin", 1);
  }
  void before_save(Session&, int64_t step) override {
    run_.note(fmt::format("listener.before {}", step));
    perform("before", ++num_before_);
  }
  bool after_save(Session&, int64_t step) override {
    run_.note(fmt::format("listener.after {}", step));
    return perform("after", ++num_after_);
  }
  void end(Session&, int64_t step) override {
    run_.note(fmt::format("listener.end {}", step));
    perform("end", 1);
  }

 private:
  bool perform(const std::string& callback, int count) {
    bool stops = false;
    for (const std::string& what : acts_of(script_, callback, count))
      stops = run_.perform(what, nullptr) || stops;
    return stops;
  }

  Run& run_;
  const json& script_;
  int num_before_ = 0;
  int num_after_ = 0;
};

HookHandle Run::make_hook(const json& script, size_t number) {
  const std::string type = script["type"];
  if (type == "scripted") return ScriptedHook(*this, script, number);
  if (type == "stop_last") return StopAtStepHook({.last_step = script["n"].get<int64_t>()});
  if (type == "stop_num") return StopAtStepHook({.num_steps = script["n"].get<int64_t>()});
  if (type == "feed")
    return FeedFnHook([this] { return Feeds{{graph_->output("p"), Tensor::scalar(7.0f)}}; });
  if (type == "nan") return NanTensorHook("loss", {.fail_on_nan_loss = script["fails"]});
  if (type == "wait") return GlobalStepWaiterHook(script["n"].get<int64_t>());
  if (type == "final") return finals_.emplace_back(std::make_shared<FinalOpsHook>("global_step"));
  if (type == "log")
    return LoggingTensorHook({.tensors = {{"y", "y"}},
                              .every_n_iter = script["n"].get<int64_t>(),
                              .at_end = script["at_end"],
                              .formatter =
                                  [this, number](const TensorMap& values) {
                                    const std::string line =
                                        fmt::format("log{} {}", number,
                                                    ::number(values.at("y").scalar<float>()));
                                    note(line);
                                    return line;
                                  },
                              .clock = &clock_});
  CheckpointSaverHookOptions saver{.checkpoint_dir = directory_,
                                   .save_steps = script["save_steps"].get<int64_t>(),
                                   .saver = saver_,
                                   .clock = &clock_};
  if (script["listener"]) saver.listeners = {std::make_shared<ScriptedListener>(*this, script)};
  return CheckpointSaverHook(saver);
}

HookList Run::make_hooks() {
  HookList hooks;
  for (size_t i = 0; i < scenario_["hooks"].size(); ++i)
    hooks.push_back(make_hook(scenario_["hooks"][i], i));
  return hooks;
}

std::shared_ptr<Scaffold> Run::make_scaffold() {
  auto scaffold = std::make_shared<Scaffold>();
  scaffold->saver = saver_;
  scaffold->init_fn = [this](Session&) {
    note(fmt::format("init {}", ++num_inits_));
    for (const json& act : scenario_["init"])
      if (act[0] == num_inits_) std::rethrow_exception(make_error(act[1]));
  };
  return scaffold;
}

std::string Run::run_step_fn(MonitoredSession& session, const json& script) {
  int calls = 0;
  return session.run_step_fn([&](StepContext& context) {
    note(fmt::format("function {}", ++calls));
    const auto perform_at = [&](int place) {
      for (const json& act : script["acts"])
        if (act[0] == calls && act[1] == place && perform(act[2], &context.session()))
          context.request_stop("as scripted");
    };
    perform_at(0);
    const int runs = script["runs"];
    std::vector<std::string> results;
    for (int i = 1; i <= runs; ++i) {
      results.push_back(i % 2 == 1 ? text_of(context.run_with_hooks("train"))
                                   : text_of(context.run_with_hooks("y")));
      perform_at(i);
    }
    return fmt::format("[{}]", fmt::join(results, ","));
  });
}

std::string Run::step(MonitoredSession& session, int iteration) {
  json script = {{"op", "run"}, {"fetch", "train"}};
  if (const auto found = scenario_["user"].find(std::to_string(iteration));
      found != scenario_["user"].end())
    script = *found;
  const std::string op = script["op"];
  note("do " + op);
  if (op == "step_fn") return run_step_fn(session, script);
  if (op == "raise") std::rethrow_exception(make_error(script["error"]));
  if (op == "should_stop") return session.should_stop() ? "1" : "0";
  if (op == "close") {
    is_closed_ = true;
    session.close();
    return "closed";
  }
  if (op == "coord") {
    if (!is_closed_ && !session.is_lost()) report(script["error"]);
    return "reported";
  }
  const std::string fetch = script["fetch"];
  if (fetch != "fed") return text_of(session.run(fetch));
  return text_of(session.run(fetch, {{graph_->output("p"), Tensor::scalar(4.0f)}}));
}

void Run::body(MonitoredSession& session) {
  note("created");
  for (int i = 1; i <= scenario_["max_runs"]; ++i) {
    if (scenario_["checks"]) {
      const bool stops = session.should_stop();
      note(fmt::format("stop? {}", stops ? 1 : 0));
      if (stops) break;
    }
    try {
      note("ok " + step(session, i));
    } catch (...) {
      const std::string error = name_of(std::current_exception());
      if (!scenario_["catches"]) throw;
      note("caught " + error);
    }
  }
  note("body ends");
}

void Run::run() {
  const std::string kind = scenario_["kind"];
  const std::shared_ptr<Scaffold> scaffold = make_scaffold();
  const std::string restored_from = scenario_["directory"] ? directory_ : "";
  HookList hooks = make_hooks();
  if (kind == "train") {
    train({.graph = *graph_,
           .checkpoint_dir = directory_,
           .scaffold = scaffold,
           .hooks = hooks,
           .save_checkpoint_steps = scenario_["save_steps"].get<int64_t>(),
           .save_summaries_steps = 0,
           .log_step_count_steps = 0,
           .config = config_,
           .max_recoveries = 1000,
           .clock = &clock_},
          [this](MonitoredSession& session) { body(session); });
    return;
  }
  auto creator = std::make_unique<FailingCreator>(
      *this,
      std::make_unique<ChiefSessionCreator>(
          *graph_, ChiefSessionCreatorOptions{
                       .scaffold = scaffold, .config = config_, .checkpoint_dir = restored_from}));
  std::unique_ptr<MonitoredSession> session;
  if (kind == "singular")
    session = std::make_unique<SingularMonitoredSession>(
        std::move(creator), std::move(hooks), SingularMonitoredSessionOptions{.clock = &clock_});
  else
    session = std::make_unique<MonitoredSession>(std::move(creator), std::move(hooks),
                                                 MonitoredSessionOptions{.clock = &clock_});
  if (scenario_["scope"]) return run_in_scope(*session, [&] { body(*session); });
  body(*session);
  session->close();
}

std::unique_ptr<Graph> make_graph([[maybe_unused]] const char* path) {
#ifdef WITH_TENSORFLOW
  if (path != nullptr)
    return std::unique_ptr<Graph>(
        new tensorflow::Graph(tensorflow::Graph::import_meta_graph(path)));
#endif
  return make_local_graph();
}

}  // namespace

int main(int argc, char** argv) {
  set_log_callback([](auto&&...) {});
  std::string line;
  const std::string directory = std::string(argv[1]) + "/own";
  SessionConfig config;
  if (argc > 3) {
    std::ifstream file(argv[3], std::ios::binary);
    config.serialized.assign(std::istreambuf_iterator<char>(file), {});
  }
  while (std::getline(std::cin, line)) {
    const json scenario = json::parse(line);
    std::filesystem::remove_all(directory);
    json result =
        Run(scenario, directory, make_graph(argc > 2 ? argv[2] : nullptr), config).result();
    std::cout << result.dump() << std::endl;
  }
}
