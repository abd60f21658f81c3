// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// How much time does the local engine itself take?
//
//   chain/N   one run of N operations in a chain: the first returns 1, each other adds 1
//
// The time is that of a whole run.
#include <benchmark/benchmark.h>

#include "crochet/crochet.h"

using namespace crochet;

namespace {

Output add_chain(local::Graph& graph, int64_t length) {
  Output last = graph.value("0", [] { return Tensor::scalar<int64_t>(1); });
  for (int64_t i = 1; i < length; ++i) {
    const Operation next =
        graph.add({.name = std::to_string(i),
                   .inputs = {last},
                   .num_outputs = 1,
                   .kernel = [](local::KernelContext& context) {
                     context.set_output(0, Tensor::scalar(context.input(0).scalar<int64_t>() + 1));
                   }});
    last = next[0];
  }
  return last;
}

void chain(benchmark::State& state) {
  local::Graph graph;
  const Output end = add_chain(graph, state.range(0));
  const auto session = graph.new_session("");
  Tensor result;
  for (auto _ : state) session->run_into({&end, 1}, {}, {&result, 1}, {}, nullptr);
  if (result.scalar<int64_t>() != state.range(0)) state.SkipWithError("the sum is wrong");
}
BENCHMARK(chain)->Arg(1)->Arg(1000);

}  // namespace

BENCHMARK_MAIN();
