// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

struct TF_Graph;

namespace crochet::inline v0::tensorflow::internal {

// Determines which types of operations hold session state that runs change: variables, and types
// that TensorFlow, or a loaded library, describes as the source of a resource.
//
// Tables that are filled once by their initialiser, and resources that end with a run, such as
// stacks and tensor arrays, are not state.
class ResourceTypes {
 public:
  // `graph` is not owned and outlives this.
  explicit ResourceTypes(TF_Graph* graph) : graph_(graph) {}

  bool hold_state(std::string_view type);

 private:
  bool find_out(const std::string& type) const;

  TF_Graph* const graph_;
  std::map<std::string, bool, std::less<>> known_;
};

}  // namespace crochet::inline v0::tensorflow::internal
