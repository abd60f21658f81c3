// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/saver/restore_options.h"

namespace crochet::inline v0::internal {

// Throws: InvalidArgumentError unless both have no `*`, or one each.
void check_stored_names(const std::vector<StoredName>& names);
// What `name` is stored as by the first that it matches; the name itself if it matches none.
CROCHET_EXPORT std::string stored_name(const std::vector<StoredName>& names,
                                       const std::string& name);
// The same by one rule; unset if it does not match.
std::optional<std::string> stored_by(const StoredName& rule, const std::string& name);
// The inverse: the name that the rule gives to what is stored as `stored_as`.
std::optional<std::string> name_stored_as(const StoredName& rule, const std::string& stored_as);
// As in C++: {"name", "stored_as"}.
std::string to_string(const StoredName& rule);

}  // namespace crochet::inline v0::internal
