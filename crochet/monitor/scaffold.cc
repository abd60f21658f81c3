// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/monitor/scaffold.h"

#include <string_view>

namespace crochet {

void Scaffold::finalize(Graph& graph) {
  if (!saver) saver = std::make_shared<Saver>();
  if (summary_op.empty()) {
    Fetches::Map summaries;
    for (const std::string_view collection :
         {kSummariesCollection, kHistogramSummariesCollection, kTextSummariesCollection})
      for (const Output& output : graph.collection(collection))
        summaries.emplace(output.operation()->name, output);
    if (!summaries.empty()) summary_op = std::move(summaries);
  }
  saver->build(graph);
  graph.finalize();
}

}  // namespace crochet
