// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

struct TF_Operation;

namespace crochet::inline v0::tensorflow::internal {

// One tensor that a saver's operations write.
struct SaverEntry {
  std::string key;    // Its name in checkpoints.
  std::string slice;  // "5 3 0,3:0,3" for a part of a partitioned variable; "" for a whole one.
  // The operation of the variable whose value it is; null for other values, such as the rows of a
  // table.
  TF_Operation* variable = nullptr;
};

// The entries that a saver of the graph writes.
struct SaverContents {
  // Unset if they are unknown: the names are not constants, or a function writes.
  std::optional<std::vector<SaverEntry>> entries;
  // All operations that the values depend on, including variables, tables and iterators.
  std::unordered_set<TF_Operation*> sources;
};

// `root` is the operation that a run fetches to save (SaverDef.save_tensor_name).
SaverContents read_saver(TF_Operation* root);

}  // namespace crochet::inline v0::tensorflow::internal
