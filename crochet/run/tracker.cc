// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/tracker.h"

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/io/path.h"

namespace crochet::inline v0 {

std::string Tracker::full_name(std::string_view name) const {
  if (name.empty())
    throw InvalidArgumentError(fmt::format("a part of \"{}\" is tracked without a name", prefix_));
  return join_path(prefix_, name);
}

void Tracker::add_array(std::string_view name, local::BorrowedArray array) {
  graph_.borrow(full_name(name), std::move(array));
}

void Tracker::add_object(std::string_view name, std::shared_ptr<Saveable> object) {
  graph_.add_saveable({.name = full_name(name), .object = std::move(object)});
}

}  // namespace crochet::inline v0
