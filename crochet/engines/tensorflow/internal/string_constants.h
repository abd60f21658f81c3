// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace crochet::inline v0::tensorflow::internal {

// By the name of the operation.
using StringConstants = std::map<std::string, std::string, std::less<>>;

// The MetaGraphDef with new values for these constants, which keep their shapes. Names of other
// operations have no effect.
// Throws: DataLossError for bytes that are not a MetaGraphDef; `name` is used in messages.
std::string with_string_constants(std::string_view meta_graph, const StringConstants& values,
                                  const std::string& name);

}  // namespace crochet::inline v0::tensorflow::internal
