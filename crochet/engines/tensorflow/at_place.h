// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "crochet/base/error.h"
#include "crochet/session/graph.h"

namespace crochet::tensorflow::internal {

// Looks something up that a file names at `place`, which errors then say first.
// Throws: NotFoundError and InvalidArgumentError where `find` throws them.
template <typename Find>
auto at_place(std::string_view place, const Find& find) {
  try {
    return find();
  } catch (const NotFoundError& error) {
    throw NotFoundError("{}: {}", place, error.what());
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError("{}: {}", place, error.what());
  }
}

// The output "loss:0", or the operation "train". Throws: NotFoundError.
inline Output find_element(const crochet::Graph& graph, std::string_view name,
                           std::string_view place) {
  const bool is_operation = name.find(':') == std::string_view::npos;
  return at_place(
      place, [&] { return is_operation ? Output(graph.operation(name)) : graph.output(name); });
}

}  // namespace crochet::tensorflow::internal
