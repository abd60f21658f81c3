// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// How much time a snapshot of a large table costs a training step that changes few of its rows,
// compared with one that changes all of them:
//
//   bench/make_scatter_graph.py /tmp/table.meta 4194304 resource
//   tensorflow_scatter --graph /tmp/table.meta --rows 4194304
//
// Medians of: a step without saves; the snapshot; the first step after it, while it is held; the
// second one.
#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "crochet/crochet.h"
#include "crochet/engines/tensorflow/graph.h"

using namespace crochet;

namespace {

double milliseconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

std::vector<int32_t> random_rows(int64_t rows, int count) {
  std::mt19937 random(1);
  std::vector<int32_t> ids;
  for (int i = 0; i < count; ++i)
    ids.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(rows)));
  return ids;
}

void measure(Session& session, const Output& step, const Feeds& feeds, int rounds) {
  const auto run = [&] { session.run(step, feeds); };
  const std::vector<Variable> variables = session.graph().variables();
  std::vector<double> alone, snapshot, first, second;
  for (int i = 0; i < 3; ++i) run();  // The first runs of a request cost more.
  session.snapshot(variables);
  for (int i = 0; i < rounds; ++i) {
    run();
    alone.push_back(milliseconds_of(run));
    Snapshot held;
    snapshot.push_back(milliseconds_of([&] { held = session.snapshot(variables); }));
    first.push_back(milliseconds_of(run));
    second.push_back(milliseconds_of(run));
  }
  fmt::print(
      "{:<8} step {:8.2f} ms, snapshot {:8.2f} ms, next step {:8.2f} ms, the one after {:8.2f} "
      "ms\n",
      step.operation()->name, median(alone), median(snapshot), median(first), median(second));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures the cost of a snapshot for steps that change few rows of a table.");
  std::string file;
  int64_t rows = 0;
  int changed = 1000;
  int rounds = 15;
  app.add_option("--graph", file, "a file made by make_scatter_graph.py")->required();
  app.add_option("--rows", rows, "of the table")->required();
  app.add_option("--changed", changed, "rows that a step changes");
  app.add_option("--rounds", rounds, "of which the median is taken");
  CLI11_PARSE(app, argc, argv);

  auto graph = tensorflow::Graph::import_meta_graph(file);
  const Output init = graph.default_init_op();
  const auto session = graph.new_session("");
  session->run(init);
  measure(*session, graph.operation("dense"), {}, rounds);
  measure(*session, graph.operation("scatter"),
          {{graph.output("ids"), Tensor::from<int32_t>(random_rows(rows, changed))}}, rounds);
  measure(*session, graph.operation("dense"), {}, rounds);
  return 0;
}
