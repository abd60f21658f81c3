// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "includes.h"

// Returns 0 if a graph is created and a string is stored, which needs both libraries.
int main() {
  TF_Graph* const graph = TF_NewGraph();
  TF_TString text;
  TF_StringInit(&text);
  TF_StringCopy(&text, "found", 5);
  std::printf("TensorFlow %s\n", TF_Version());
  const bool is_kept = TF_StringGetSize(&text) == 5;
  TF_StringDealloc(&text);
  TF_DeleteGraph(graph);
  return is_kept ? 0 : 1;
}
