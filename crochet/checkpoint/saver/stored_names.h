// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/checkpoint/saver/name_patterns.h"

namespace crochet::inline v0::internal {

// Throws: InvalidArgumentError unless both have no `*`, or one each.
void check_stored_names(const std::vector<StoredName>& names);
// What `name` is stored as by the first that it matches; the name itself if it matches none.
CROCHET_EXPORT std::string stored_name(const std::vector<StoredName>& names,
                                       const std::string& name);
// The inverse: which name is stored as `stored_as` by the first that it matches.
std::string program_name(const std::vector<StoredName>& names, const std::string& stored_as);

}  // namespace crochet::inline v0::internal
