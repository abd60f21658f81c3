// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "crochet/tensor/tensor.h"

namespace crochet::tool {

// A tensor whose elements are all equal: "<name>=<value>" on the command line for one that exists,
// which keeps its type and shape, or "<name>=<dtype>[<sizes>]" or
// "<name>=<dtype>[<sizes>]:<value>".
struct Fill {
  struct Type {
    DType dtype = DType::kInvalid;
    Shape shape = {};
  };

  std::string name = {};
  std::optional<Type> type = {};
  std::string value = {};  // Empty: 0, false or the empty string.
};

// Throws: InvalidArgumentError for other text.
Fill parse_fill(std::string_view text);

// A tensor of this type, each element of which is the value. Throws: InvalidArgumentError if the
// type cannot hold it.
Tensor filled(const Fill::Type& type, const std::string& value);

}  // namespace crochet::tool
