// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Trains an imported graph with a hook that extends it, for check_extended.py:
//
//   extend_graph <graph> <folder of the run>
#include <fmt/format.h>

#include "crochet/crochet.h"
#include "crochet/engines/tensorflow/builder/graph_builder.h"

namespace {

using crochet::DType;
using crochet::Output;
using crochet::tensorflow::FunctionInput;
using crochet::tensorflow::GraphBuilder;

// Counts, in the graph, how often a branch was taken: "added/count".
class BranchHook final : public crochet::SessionRunHook {
 public:
  void begin(crochet::Graph& graph) override {
    GraphBuilder build(graph);
    const auto count =
        build.variable("added/count", crochet::Tensor::scalar(int64_t{0}), {.trainable = false});
    const std::vector<FunctionInput> inputs = {{"count", DType::kResource}, {"x", DType::kFloat}};
    const auto counted =
        build.function("counted", inputs, [](GraphBuilder& body, const std::vector<Output>& in) {
          body.op("AssignAddVariableOp", "add", {in[0], body.constant("one", int64_t{1})});
          return body.op("Mul", "product", {in[1], body.constant("ten", 10.0f)});
        });
    const auto same = build.function(
        "same", inputs, [](GraphBuilder&, const std::vector<Output>& in) { return in[1]; });
    const auto x = graph.output("x");
    const auto is_large =
        build.op("Greater", "added/is_large", {x, build.constant("added/2", 2.0f)});
    const auto branch = build.op("If", "added/branch", {is_large, {GraphBuilder::handle(count), x}},
                                 {{"then_branch", counted}, {"else_branch", same}});
    build.name("added/y", branch);
    build.scalar_summary("added/curve", graph.output("added/y"));
    request_ = graph.output("added/y");
  }
  std::optional<crochet::SessionRunArgs> before_run(crochet::SessionRunContext&) override {
    return crochet::SessionRunArgs{.fetches = request_};
  }

 private:
  Output request_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  auto graph = crochet::tensorflow::Graph::import_meta_graph(argv[1]);
  crochet::train({.graph = graph,
                  .checkpoint_dir = argv[2],
                  .hooks = {crochet::StopAtStepHook({.last_step = 5}), BranchHook()}},
                 [&](crochet::MonitoredSession& session) {
                   float x = 0;  // 0 to 4: the branch is taken twice.
                   while (!session.should_stop())
                     session.run(graph.operation("train"),
                                 {{graph.output("x"), crochet::Tensor::scalar(x++)}});
                 });
  return 0;
}
