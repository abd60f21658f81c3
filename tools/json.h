// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

namespace crochet::tool {

// Keys in the order in which they are added, as people read the output, too.
using Json = nlohmann::ordered_json;

}  // namespace crochet::tool
