// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// How much overhead does the TensorFlow engine add to TensorFlow, and how much do hooks add to it?
//
//   empty/raw            TF_SessionRun of a graph whose one operation does nothing
//   empty/engine         Session::run_into of the same graph
//   digits/raw           TF_SessionRun of a training step of examples/tensorflow, with its feeds
//   digits/engine        Session::run_into
//   digits/engine_step   the same with the global step fetched, which hooks need
//   digits/no_hooks      MonitoredSession without hooks
//   digits/usual_hooks   with StopAtStepHook, StepCounterHook, LoggingTensorHook,
//                        AsyncCheckpointSaverHook and FinalOpsHook, between their triggers
//   callers_thread/...   digits/raw and digits/usual_hooks with all operations on the calling
//                        thread, by callers_thread_config()
//   single_threaded/...  the same two with single_threaded_config()
//
// All but the first two need --graph, a file that make_digits_graph.py wrote.
// peers/tensorflow_overhead.py makes the same steps in Python.
//
// Steps are made in blocks of 100: triggers are due in the first of a block, the last 90 are timed,
// each separately. The loops take turns, a block each, so that a busy machine slows all of them.
// Prints JSON: the median for each repetition and loop.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <crochet/crochet.h>
#include <crochet/engines/tensorflow/graph.h>
#include <crochet/engines/tensorflow/session.h>
#include <crochet/testing/memory_file_system.h>
#include <nlohmann/json.hpp>
#include <tensorflow/c/c_api.h>

#include "digits_data.h"
#include "feeds.h"

using namespace crochet;

namespace {

constexpr int kNumUntimed = 10;
constexpr int kNumTimed = 90;
constexpr int64_t kNever = int64_t{1} << 60;

struct Options {
  std::string graph;
  int repetitions = 10;
  int blocks = 20;
};

struct Measured {
  std::string name;
  std::function<void()> step;
};

// A field of a protobuf message, with less than 128 bytes.
std::string field(int number, const std::string& bytes) {
  return static_cast<char>(number << 3 | 2) + std::string(1, static_cast<char>(bytes.size())) +
         bytes;
}

// A MetaGraphDef whose graph has the operation "nothing".
std::string empty_graph() { return field(2, field(1, field(1, "nothing") + field(2, "NoOp"))); }

void check(TF_Status* status) {
  if (TF_GetCode(status) == TF_OK) return;
  std::cerr << TF_Message(status) << '\n';
  std::exit(1);
}

// Bare TensorFlow: everything is created beforehand.
class RawSession {
 public:
  RawSession(const tensorflow::Graph& graph, const SessionConfig& config) {
    TF_SessionOptions* const options = TF_NewSessionOptions();
    TF_SetConfig(options, config.serialized.data(), config.serialized.size(), status_);
    check(status_);
    session_ = TF_NewSession(graph.tensorflow_graph(), options, status_);
    check(status_);
    TF_DeleteSessionOptions(options);
  }
  ~RawSession() {
    for (TF_Tensor* const value : values_) TF_DeleteTensor(value);
    TF_CloseSession(session_, status_);
    TF_DeleteSession(session_, status_);
    TF_DeleteStatus(status_);
  }
  RawSession(const RawSession&) = delete;
  RawSession& operator=(const RawSession&) = delete;
  void feed(const Output& output, const Tensor& value) {
    const std::vector<int64_t> shape(value.shape().dimensions().begin(),
                                     value.shape().dimensions().end());
    TF_Tensor* const tensor =
        TF_AllocateTensor(static_cast<TF_DataType>(value.dtype()), shape.data(),
                          static_cast<int>(shape.size()), value.num_bytes());
    std::copy_n(value.bytes().data(), value.num_bytes(),
                static_cast<std::byte*>(TF_TensorData(tensor)));
    places_.push_back({tensorflow::node_of(output).operation, output.index()});
    values_.push_back(tensor);
  }
  void run(const Output& target) {
    const TF_Operation* const operation = tensorflow::node_of(target).operation;
    TF_SessionRun(session_, nullptr, places_.data(), values_.data(),
                  static_cast<int>(places_.size()), nullptr, nullptr, 0, &operation, 1, nullptr,
                  status_);
    check(status_);
  }

 private:
  TF_Status* const status_ = TF_NewStatus();
  TF_Session* session_ = nullptr;
  std::vector<TF_Output> places_;
  std::vector<TF_Tensor*> values_;
};

// Loops over one graph, each with its own import.
struct Subject {
  std::string name;
  std::function<tensorflow::Graph()> import;
  std::string target;
  std::function<Feeds(const Graph&)> feeds;
  SessionConfig config = {};

  std::shared_ptr<tensorflow::Graph> new_graph() const {
    return std::shared_ptr<tensorflow::Graph>(new tensorflow::Graph(import()));
  }
  Measured raw() const {
    const auto graph = new_graph();
    const Output init = graph->default_init_op();
    const auto session = std::make_shared<RawSession>(*graph, config);
    if (init) session->run(init);
    for (const auto& [output, value] : feeds(*graph)) session->feed(output, value);
    return {name + "/raw",
            [graph, session, step = Output(graph->operation(target))] { session->run(step); }};
  }
  // Also fetches the global step if `with_step` is set.
  Measured engine(bool with_step = false) const {
    const auto graph = new_graph();
    const Output init = graph->default_init_op();
    const std::shared_ptr<Session> session = graph->new_session("", config);
    if (init) session->run(init);
    std::vector<Output> fetches = {graph->operation(target)};
    if (with_step) fetches.push_back(graph->global_step());
    return {name + (with_step ? "/engine_step" : "/engine"),
            [graph, session, fetches, feeds = feeds(*graph)] {
              std::vector<Tensor> results(fetches.size());
              session->run_into(fetches, feeds, results, {}, nullptr);
            }};
  }
  Measured monitored(const std::string& loop, const HookList& hooks) const {
    const auto graph = new_graph();
    auto creator =
        std::make_unique<ChiefSessionCreator>(*graph, ChiefSessionCreatorOptions{.config = config});
    const auto session = std::make_shared<MonitoredSession>(std::move(creator), hooks);
    return {name + "/" + loop,
            [graph, session, step = Output(graph->operation(target)), feeds = feeds(*graph)] {
              if (session->should_stop()) std::abort();
              session->run(step, feeds);
            }};
  }
};

HookList usual_hooks(FileSystem& files, const std::string& directory) {
  const auto saver = std::make_shared<Saver>(SaverOptions{.allow_empty = true, .files = &files});
  return {
      StopAtStepHook({.last_step = kNever}),
      StepCounterHook({.every_n_steps = 100}),
      LoggingTensorHook({.tensors = {"loss"}, .every_n_iter = 100}),
      AsyncCheckpointSaverHook({.checkpoint_dir = directory, .save_secs = 600, .saver = saver}),
      FinalOpsHook("loss"),
  };
}

void add_block(const Measured& loop, std::vector<double>& step_ns) {
  for (int i = 0; i < kNumUntimed; ++i) loop.step();
  for (int i = 0; i < kNumTimed; ++i) {
    const auto start = std::chrono::steady_clock::now();
    loop.step();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    step_ns.push_back(time.count());
  }
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

nlohmann::json measure(const std::vector<Measured>& loops, const Options& options) {
  nlohmann::json benchmarks = nlohmann::json::array();
  for (int repetition = 0; repetition < options.repetitions; ++repetition) {
    std::vector<std::vector<double>> step_ns(loops.size());
    for (int block = 0; block < options.blocks; ++block)
      for (size_t i = 0; i < loops.size(); ++i) add_block(loops[i], step_ns[i]);
    for (size_t i = 0; i < loops.size(); ++i)
      benchmarks.push_back({{"name", loops[i].name},
                            {"repetition_index", repetition},
                            {"step_ns", median(step_ns[i])}});
  }
  return {{"benchmarks", benchmarks}};
}

Feeds digits_feeds(const Graph& graph) {
  const digits::Digits data = digits::load_digits(digits::default_digits_file());
  const auto batch = digits::batch_of_step(data.train, 0);
  return {{graph.output("images"), digits::images_of(batch)},
          {graph.output("labels"), digits::labels_of(batch)}};
}

void run(const Options& options) {
  const Subject empty = {"empty",
                         [] { return tensorflow::Graph::from_meta_graph(empty_graph(), "empty"); },
                         "nothing", [](const Graph&) { return Feeds(); }};
  MemoryFileSystem files;
  std::vector<Measured> loops = {empty.raw(), empty.engine()};
  if (!options.graph.empty()) {
    Subject training = {"digits",
                        [&] { return tensorflow::Graph::import_meta_graph(options.graph); },
                        "train", digits_feeds};
    loops.push_back(training.raw());
    loops.push_back(training.engine());
    loops.push_back(training.engine(/*with_step=*/true));
    loops.push_back(training.monitored("no_hooks", {}));
    loops.push_back(training.monitored("usual_hooks", usual_hooks(files, training.name)));
    for (const auto& [name, config] :
         {std::pair("callers_thread", tensorflow::callers_thread_config()),
          std::pair("single_threaded", tensorflow::single_threaded_config())}) {
      training.name = name;
      training.config = config;
      loops.push_back(training.raw());
      loops.push_back(training.monitored("usual_hooks", usual_hooks(files, training.name)));
    }
  }
  std::cout << measure(loops, options).dump(1) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures the overhead of the TensorFlow engine.", "tensorflow_overhead");
  app.add_option("--graph", options.graph, "The graph that make_digits_graph.py wrote");
  app.add_option("--repetitions", options.repetitions)->capture_default_str();
  app.add_option("--blocks", options.blocks, "Blocks of each loop in a repetition")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  set_log_callback([](Severity, std::string_view) {});
  try {
    run(options);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "tensorflow_overhead: " << error.what() << '\n';
    return 1;
  }
}
