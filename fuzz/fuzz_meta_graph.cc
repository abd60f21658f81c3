// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A graph exported by Python, parsed and prepared for import, without TensorFlow. Preparing a
// prepared graph must change nothing.
#include "crochet/engines/tensorflow/internal/graph_def.h"
#include "crochet/engines/tensorflow/meta_graph.h"
#include "fuzz_target.h"

using namespace crochet;

namespace {

void prepare(std::string_view graph_def, std::string_view global_step) {
  expect_typed_errors([&] {
    using tensorflow::internal::prepare_graph_def;
    const std::string prepared = prepare_graph_def(graph_def, global_step, "fuzz.meta");
    bool is_sound = false;
    expect_typed_errors(
        [&] { is_sound = prepare_graph_def(prepared, global_step, "fuzz.meta") == prepared; });
    require(is_sound);
  });
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = as_text(data, size);
  prepare(bytes, "global_step");
  return expect_typed_errors([&] {
    const tensorflow::MetaGraph graph = tensorflow::parse_meta_graph(bytes, "fuzz.meta");
    prepare(graph.graph_def, "");
    prepare(graph.graph_def, "global_step");
    const auto found = graph.variables.find("global_step");
    if (found == graph.variables.end()) return;
    // The counter may have any name.
    for (const tensorflow::VariableDef& step : found->second)
      prepare(graph.graph_def, step.variable_name.substr(0, step.variable_name.find(':')));
  });
}
