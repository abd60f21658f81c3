// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Saves and restores for check_saver.py:
//
//   graph_saver_program state <graph> <from> <steps> <to>
//     Restores the checkpoint <from> by the graph's own operations, or initialises if it is "-";
//     runs "train" <steps> times; saves as <to>-graph by the graph's own operations and as
//     <to>-crochet by crochet.
//   graph_saver_program default <graph> <from> <steps> <to>
//     The same with a Saver's defaults, once: saves as <to>.
//   graph_saver_program model <directory>
//     Feeds 0, 1, 2 to the input "x" of the signature "serving_default"; prints its output "y".
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "crochet/crochet.h"
#include "crochet/engines/tensorflow/graph.h"
#include "crochet/engines/tensorflow/saved_model.h"

namespace {

void save_state(const std::string& graph_file, const std::string& from, int steps,
                const std::string& to) {
  auto graph = crochet::tensorflow::Graph::import_meta_graph(graph_file);
  const crochet::Output init = graph.default_init_op();
  const auto session = graph.new_session("");
  crochet::Saver by_graph({.writer = crochet::StateWriter::kGraph});
  if (from == "-")
    session->run(init);
  else
    by_graph.restore(*session, from);
  for (int i = 0; i < steps; ++i) session->run(graph.operation("train"));
  by_graph.save(*session, to + "-graph");
  crochet::Saver({.writer = crochet::StateWriter::kCrochet}).save(*session, to + "-crochet");
}

void save_by_default(const std::string& graph_file, const std::string& from, int steps,
                     const std::string& to) {
  auto graph = crochet::tensorflow::Graph::import_meta_graph(graph_file);
  const crochet::Output init = graph.default_init_op();
  const auto session = graph.new_session("");
  crochet::Saver saver;
  if (from == "-")
    session->run(init);
  else
    saver.restore(*session, from);
  for (int i = 0; i < steps; ++i) session->run("train");
  saver.save(*session, to);
}

void run_model(const std::string& directory) {
  crochet::tensorflow::SavedModel model(directory);
  const auto session = model.new_session();
  const crochet::tensorflow::Signature& serve = model.signature("serving_default");
  const crochet::Tensor y =
      session
          ->run(serve.outputs.at("y"),
                {{serve.inputs.at("x"), crochet::Tensor::from<float>({0, 1, 2})}})
          .tensor();
  for (const float value : y.flat<float>()) fmt::print("{:a}\n", value);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "state" && argc == 6)
    save_state(argv[2], argv[3], std::atoi(argv[4]), argv[5]);
  else if (mode == "default" && argc == 6)
    save_by_default(argv[2], argv[3], std::atoi(argv[4]), argv[5]);
  else if (mode == "model" && argc == 3)
    run_model(argv[2]);
  else
    return 2;
  return 0;
}
