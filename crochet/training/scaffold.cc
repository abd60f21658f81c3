// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/scaffold.h"

#include <string_view>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/saver/saver.h"

namespace crochet::inline v0 {
namespace {

// The only operation of a collection; empty if there is none.
Output only_one(const Graph& graph, std::string_view collection) {
  const std::vector<Output> operations = graph.collection(collection);
  if (operations.size() > 1)
    throw FailedPreconditionError(fmt::format(
        "More than one item: the graph's collection \"{}\" has {}, expected at most one",
        collection, operations.size()));
  return operations.empty() ? Output() : operations.front();
}

// Fills `operation` from the collection, or from the engine, and then the collection.
void fill(Fetches& operation, Graph& graph, std::string_view collection,
          Output (Graph::*make_default)()) {
  if (!operation.empty()) return;
  Output found = only_one(graph, collection);
  if (!found) {
    found = (graph.*make_default)();
    if (found && !graph.finalized()) graph.add_to_collection(collection, found);
  }
  if (found) operation = found;
}

void fill_summary_op(Fetches& summary_op, const Graph& graph) {
  if (!summary_op.empty()) return;
  if (const Output found = only_one(graph, kSummaryOpCollection)) {
    summary_op = found;
    return;
  }
  Fetches::Map summaries;
  for (const std::string_view collection : {kSummariesCollection, kHistogramSummariesCollection,
                                            kTextSummariesCollection, kImageSummariesCollection})
    for (const Output& output : graph.collection(collection))
      summaries.emplace(output.operation()->name, output);
  if (!summaries.empty()) summary_op = std::move(summaries);
}

void fill_saver(std::shared_ptr<Saver>& saver, Graph& graph) {
  if (!saver) saver = registered_saver(graph);
  if (saver) return;
  saver = std::make_shared<Saver>(SaverOptions{.allow_empty = true});
  register_saver(graph, saver);
}

void take(Fetches& own, const Fetches& other) {
  if (own.empty()) own = other;
}

}  // namespace

void Scaffold::finalize(Graph& graph) {
  fill(init_op, graph, kInitOpCollection, &Graph::default_init_op);
  fill(ready_op, graph, kReadyOpCollection, &Graph::default_ready_op);
  fill(ready_for_local_init_op, graph, kReadyForLocalInitOpCollection,
       &Graph::default_ready_for_local_init_op);
  fill(local_init_op, graph, kLocalInitOpCollection, &Graph::default_local_init_op);
  fill_summary_op(summary_op, graph);
  fill_saver(saver, graph);
  saver->build(graph);
  if (graph.finalized()) return;
  graph.finalize();
  log_debug("the graph is final");
}

Scaffold copy_from_scaffold(const Scaffold& source, Scaffold own) {
  if (!own.saver) own.saver = source.saver;
  take(own.init_op, source.init_op);
  if (own.init_feed_dict.empty()) own.init_feed_dict = source.init_feed_dict;
  if (!own.init_fn) own.init_fn = source.init_fn;
  take(own.ready_op, source.ready_op);
  take(own.ready_for_local_init_op, source.ready_for_local_init_op);
  take(own.local_init_op, source.local_init_op);
  if (own.local_init_feed_dict.empty()) own.local_init_feed_dict = source.local_init_feed_dict;
  take(own.summary_op, source.summary_op);
  return own;
}

}  // namespace crochet::inline v0
