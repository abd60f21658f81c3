// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// One member of a cluster that learns to read hand-written digits: a parameter server ("ps") or
// a worker. Worker 0 is the chief: it initialises or restores, and saves. run_cluster.py
// in this folder starts a whole cluster on one machine.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <crochet/crochet.h>
#include <crochet/engines/tensorflow/cluster_spec.h>
#include <crochet/engines/tensorflow/graph.h>
#include <crochet/engines/tensorflow/server.h>
#include <fmt/format.h>

#include "digits_data.h"
#include "feeds.h"

using namespace digits;

namespace {

struct Options {
  std::vector<std::string> ps;
  std::vector<std::string> workers;
  std::string job = "worker";
  int task = 0;
  std::string graph = "digits.meta";
  int64_t steps = 1000;
  double stagger = 0;
  std::string dir = "runs/cluster";
  int64_t save_steps = 200;
  int64_t limit_secs = 60;
  double recovery_wait_secs = 1;
  int max_recoveries = 10;
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("--ps", options.ps, "host:port of each parameter server")
      ->delimiter(',')
      ->required();
  app.add_option("--workers", options.workers, "host:port of each worker")
      ->delimiter(',')
      ->required();
  app.add_option("--job", options.job, "The job of this member")
      ->check(CLI::IsMember({"ps", "worker"}))
      ->capture_default_str();
  app.add_option("--task", options.task, "The index of this member in its job")
      ->capture_default_str();
  app.add_option("--graph", options.graph, "The graph that make_digits_graph.py wrote")
      ->capture_default_str();
  app.add_option("--steps", options.steps, "All stop at this step, counted over all workers")
      ->capture_default_str();
  app.add_option("--stagger", options.stagger, "Worker n starts at step int(this * log(n + 1))")
      ->capture_default_str();
  app.add_option("--dir", options.dir, "The chief's checkpoints; an existing run is resumed")
      ->capture_default_str();
  app.add_option("--save-steps", options.save_steps, "Steps between two checkpoints")
      ->capture_default_str();
  app.add_option("--limit-secs", options.limit_secs, "How long to wait for an absent member")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  app.add_option("--recovery-wait-secs", options.recovery_wait_secs,
                 "How often a worker checks whether the chief is ready")
      ->capture_default_str();
  app.add_option("--max-recoveries", options.max_recoveries,
                 "The limit of recoveries in a row without a step")
      ->capture_default_str();
}

// A full disk must not end a run: fmt::print would throw.
template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  std::fputs(fmt::format(format, std::forward<Args>(args)...).c_str(), stdout);
  std::fflush(stdout);
}

// Prints the step at which each session of this worker starts to train.
class FirstStepHook final : public crochet::SessionRunHook {
 public:
  explicit FirstStepHook(int task) : task_(task) {}

  void begin(crochet::Graph& graph) override { step_ = graph.global_step(); }
  void after_create_session(crochet::Session&, crochet::Coordinator&) override {
    is_first_run_ = true;
  }
  std::optional<crochet::SessionRunArgs> before_run(crochet::SessionRunContext&) override {
    return crochet::SessionRunArgs{.fetches = step_};
  }
  void after_run(crochet::SessionRunContext&, const crochet::SessionRunValues& values) override {
    ++num_steps_;
    if (!is_first_run_) return;
    is_first_run_ = false;
    say("worker {} trains from step {}\n", task_, values.results.scalar<int64_t>());
  }
  int64_t num_steps() const { return num_steps_; }

 private:
  const int task_;
  crochet::Output step_;
  bool is_first_run_ = true;
  int64_t num_steps_ = 0;
};

int work(const Options& options, const crochet::tensorflow::Server& server) {
  const Digits digits = load_digits(default_digits_file());
  auto graph = crochet::tensorflow::Graph::import_meta_graph(
      options.graph, {.task = crochet::tensorflow::task_device("worker", options.task),
                      .ps_tasks = static_cast<int>(options.ps.size())});
  const crochet::Output images = graph.output("images");
  const crochet::Output labels = graph.output("labels");
  const crochet::Operation train_op = graph.operation("train");
  const bool is_chief = options.task == 0;

  const auto first_step = std::make_shared<FirstStepHook>(options.task);
  crochet::HookList hooks = {
      crochet::StopAtStepHook({.last_step = options.steps}),
      crochet::GlobalStepWaiterHook(crochet::staggered_start_step(options.task, options.stagger)),
      first_step, crochet::SignalHook({SIGINT, SIGTERM})};
  const auto accuracy = std::make_shared<crochet::FinalOpsHook>(
      "accuracy",
      crochet::Feeds{{images, images_of(digits.test)}, {labels, labels_of(digits.test)}});
  if (is_chief) hooks.push_back(accuracy);

  // Each of n workers takes every n-th batch.
  int64_t next_batch = options.task;
  const crochet::RunReport report = crochet::train(
      {.graph = graph,
       .master = server.target(),
       .is_chief = is_chief,
       .checkpoint_dir = options.dir,
       .hooks = hooks,
       .save_checkpoint_steps = options.save_steps,
       .config = crochet::tensorflow::cluster_config(
           {.device_filters = crochet::tensorflow::filters_of_task("worker", options.task),
            .operation_timeout = std::chrono::seconds(options.limit_secs)}),
       .recovery_wait_secs = options.recovery_wait_secs,
       .max_recoveries = options.max_recoveries},
      [&](crochet::MonitoredSession& session) {
        while (!session.should_stop()) {
          const Dataset batch = batch_of_step(digits.train, next_batch);
          session.run(train_op, {{images, images_of(batch)}, {labels, labels_of(batch)}});
          next_batch += static_cast<int64_t>(options.workers.size());
        }
      });

  if (const crochet::FetchValues& value = accuracy->final_ops_values())
    say("accuracy {:.2f} %\n", 100 * value.scalar<float>());
  say("worker {} ended at step {} after {} of its own and {} recoveries\n", options.task,
      report.last_step, first_step->num_steps(), report.recoveries);
  return report.exit_code();
}

int run(const Options& options) {
  const crochet::tensorflow::Server server({.cluster = crochet::tensorflow::ClusterSpec(
                                                {{"ps", options.ps}, {"worker", options.workers}}),
                                            .job_name = options.job,
                                            .task_index = options.task});
  if (options.job == "ps") server.join();
  return work(options, server);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("A member of a cluster that learns to read hand-written digits.", "digits_cluster");
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::cerr << "digits_cluster: " << error.what() << '\n';
    return crochet::pending_signal() == 0 ? 1 : 128 + crochet::pending_signal();
  }
}
