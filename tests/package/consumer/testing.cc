// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests a hook of its own and a full disk with the installed libcrochet_testing.
#include <chrono>
#include <memory>
#include <string>

#include "crochet/crochet.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"

namespace {

class RunCounter final : public crochet::SessionRunHook {
 public:
  int num_runs() const { return num_runs_; }
  void after_run(crochet::SessionRunContext&, const crochet::SessionRunValues&) override {
    ++num_runs_;
  }

 private:
  int num_runs_ = 0;
};

bool the_hook_is_called_for_each_run() {
  crochet::ScriptedGraph graph;
  const auto counter = std::make_shared<RunCounter>();
  crochet::MonitoredSession session(graph, {counter});
  for (int i = 0; i < 3; ++i) session.run({graph.train()});
  session.close();
  return counter->num_runs() == 3;
}

bool a_full_disk_is_an_error() {
  crochet::LogCapture log;
  crochet::MemoryFileSystem memory;
  crochet::FailingFileSystem files(memory);
  crochet::ScriptedGraph graph;
  graph.variable("weights", crochet::Tensor::zeros<float>({1000}));
  const auto session = graph.new_session("");
  memory.create_directories("runs");
  memory.set_capacity(100);
  crochet::Saver saver({.files = &files});
  try {
    saver.save(*session, "runs/model", 1);
  } catch (const crochet::ResourceExhaustedError& error) {
    return std::string(error.what()).find("runs") != std::string::npos;
  }
  return false;
}

bool a_clock_moves_on_request() {
  crochet::FakeClock clock;
  const auto before = clock.now();
  clock.advance(std::chrono::seconds(600));
  return clock.now() - before == std::chrono::seconds(600);
}

}  // namespace

int main() {
  return the_hook_is_called_for_each_run() && a_full_disk_is_an_error() &&
                 a_clock_moves_on_request()
             ? 0
             : 1;
}
