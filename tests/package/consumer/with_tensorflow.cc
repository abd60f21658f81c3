// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Checks that the component is found, linked and run: a file that is not a graph is rejected.
#include "crochet/crochet.h"
#include "crochet/engines/tensorflow/graph.h"

int main() {
  try {
    crochet::tensorflow::Graph::import_meta_graph("does_not_exist");
  } catch (const crochet::NotFoundError&) {
    return 0;
  }
  return 1;
}
