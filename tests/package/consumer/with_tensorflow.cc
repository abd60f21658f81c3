// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// That the component is found, linked and run: what is no graph is refused.
#include "crochet/crochet.h"
#include "crochet/engines/tensorflow/graph.h"

int main() {
  try {
    crochet::tensorflow::Graph::import_meta_graph("there is none");
  } catch (const crochet::NotFoundError&) {
    return 0;
  }
  return 1;
}
