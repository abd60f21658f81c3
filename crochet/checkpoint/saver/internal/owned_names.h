// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0::internal {

// A part that belongs to another value, whose name it has in its own: "adam/exp_avg/net/w" and
// "net/gradients/w" belong to "net/w". See StatePart::named_after.
struct OwnedName {
  std::string name;
  std::string owner;
  std::string object = {};  // The name of the object whose part it is.
};

// The names of the values of a graph: of its variables, and of the parts that its objects may have.
// The owner is empty for those that belong to no other.
std::vector<OwnedName> value_names(const Graph& graph);

// Where the part is stored as its owner is renamed. Unset if only the rules about its own name
// count: its owner is not renamed, or by the same rule, or a rule before that one names the part.
std::optional<std::string> stored_with_owner(const std::vector<StoredName>& rules,
                                             const OwnedName& part);

}  // namespace crochet::inline v0::internal
