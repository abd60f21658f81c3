// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0::tensorflow::internal {

// Calls `find` for a name in a file; the messages of its errors are prefixed with `location`.
// Throws: NotFoundError and InvalidArgumentError as `find` does.
template <typename Find>
auto at_location(std::string_view location, const Find& find) {
  try {
    return find();
  } catch (const NotFoundError& error) {
    throw NotFoundError(fmt::format("{}: {}", location, error.what()));
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError(fmt::format("{}: {}", location, error.what()));
  }
}

// Finds the output "loss:0", or the operation "train". Throws: NotFoundError.
inline Output find_element(const crochet::Graph& graph, std::string_view name,
                           std::string_view location) {
  const bool is_operation = name.find(':') == std::string_view::npos;
  return at_location(
      location, [&] { return is_operation ? Output(graph.operation(name)) : graph.output(name); });
}

}  // namespace crochet::inline v0::tensorflow::internal
