// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

struct TF_Graph;

namespace crochet::tensorflow::internal {

// Which types of operations hold state of a session that its runs change: variables, and whatever
// TensorFlow, or a library that was loaded, describes as the source of a resource.
//
// Not state are tables that are filled once by their initialiser, and what ends with a run, as
// stacks and tensor arrays do.
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

}  // namespace crochet::tensorflow::internal
