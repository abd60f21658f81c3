// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Trains the graph of examples/tensorflow with two hooks and records their calls, for
// check_monitored.py, which does the same in Python:
//
//   monitored_calls <graph> <directory> <last step> <lost at> <stop at> <file>
//
// After the step `lost at` the second hook loses the session, once in this process; at `stop
// at` it asks for a stop. -1: never.
#include <bit>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <string>

#include <crochet/crochet.h>
#include <crochet/engines/tensorflow/graph.h>
#include <fmt/format.h>

#include "digits_data.h"
#include "feeds.h"

using namespace crochet;
using namespace digits;

namespace {

// When a hook loses the session or asks to stop.
struct Plan {
  int64_t lost_at = -1;
  int64_t stop_at = -1;
};

// Records a line for each call.
class Recorder final : public SessionRunHook {
 public:
  Recorder(std::string label, std::ofstream& file, Plan plan = {})
      : label_(std::move(label)), file_(file), plan_(plan) {}

  void begin(Graph& graph) override {
    loss_ = graph.output("loss");
    note("begin");
  }
  void after_create_session(Session& session, Coordinator&) override {
    step_ = read_global_step(session);
    note(fmt::format("after_create_session {}", step_));
  }
  std::optional<SessionRunArgs> before_run(SessionRunContext&) override {
    note("before_run");
    if (step_ == plan_.lost_at) {
      plan_.lost_at = -1;
      throw AbortedError("lost");
    }
    return SessionRunArgs{.fetches = loss_};
  }
  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    step_ = read_global_step(context.session());
    note(fmt::format("after_run {} {:08x}", step_,
                     std::bit_cast<uint32_t>(values.results.scalar<float>())));
    if (step_ == plan_.stop_at) context.request_stop("it has seen enough");
  }
  void end(Session& session) override { note(fmt::format("end {}", read_global_step(session))); }

  int64_t step() const { return step_; }

 private:
  void note(const std::string& call) { file_ << label_ << ' ' << call << '\n'; }

  const std::string label_;
  std::ofstream& file_;
  Plan plan_;
  Output loss_;
  int64_t step_ = 0;
};

void run(const std::string& graph_path, const std::string& directory, int64_t last_step,
         const Plan& plan, const std::string& path) {
  const Digits digits = load_digits(default_digits_file());
  auto graph = tensorflow::Graph::import_meta_graph(graph_path);
  const Output images = graph.output("images");
  const Output labels = graph.output("labels");
  const Operation train_op = graph.operation("train");
  std::ofstream file(path);
  const auto first = std::make_shared<Recorder>("first", file);
  train({.graph = graph,
         .checkpoint_dir = directory,
         .hooks = {first, StopAtStepHook({.last_step = last_step}), Recorder("second", file, plan)},
         .save_checkpoint_steps = 10,
         .save_summaries_steps = 5,
         .log_step_count_steps = 10},
        [&](MonitoredSession& session) {
          while (!session.should_stop()) {
            const Dataset batch = batch_of_step(digits.train, first->step());
            session.run(train_op, {{images, images_of(batch)}, {labels, labels_of(batch)}});
          }
        });
  file << "done\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  try {
    run(argv[1], argv[2], std::atoll(argv[3]),
        {.lost_at = std::atoll(argv[4]), .stop_at = std::atoll(argv[5])}, argv[6]);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "monitored_calls: {}\n", error.what());
    return 1;
  }
}
