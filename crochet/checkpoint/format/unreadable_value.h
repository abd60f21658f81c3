// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

#include "crochet/base/error.h"

namespace crochet::inline v0 {

// Why one value of a checkpoint cannot be read, although the others can.
struct UnreadableValue {
  // kUnimplemented: crochet has no type for it. kNotFound: its file is missing. kDataLoss: what the
  // file says about it is wrong.
  Code code = Code::kUnimplemented;
  // What follows its name in a message: "is an object of argparse.Namespace".
  std::string why = {};

  friend bool operator==(const UnreadableValue&, const UnreadableValue&) = default;
};
using UnreadableValues = std::map<std::string, UnreadableValue, std::less<>>;

}  // namespace crochet::inline v0
