// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "crochet/session/saveable.h"

namespace crochet::inline v0::internal {

// What a restore does to the entries of a map or set that is stored as columns, one row an entry,
// by Saveable::key_column(). As StructureFit does for other containers.
struct KeyedRows {
  // `stays` and `is_left_out` are asked with the texts of keys.
  KeyedRows(const TensorMap& present, TensorMap stored, const std::string& key_column,
            const std::function<bool(const std::string& key)>& stays,
            const std::function<bool(const std::string& key)>& is_left_out);

  TensorMap wanted;
  std::vector<std::string> dropped;
  std::vector<std::string> made;
  std::vector<std::string> staying;
  std::vector<std::string> left_out;
};

}  // namespace crochet::inline v0::internal
