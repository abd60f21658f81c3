// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "crochet/outputs/outputs.h"

namespace crochet::inline v0::internal {

// Compresses a stream as members, each of which can be read without those before it; a reader of
// the format reads them as one.
class OutputEncoder {
 public:
  virtual ~OutputEncoder() = default;

  // Adds bytes to the member, and appends what is ready of its compressed bytes to `out`.
  virtual void add(std::span<const std::byte> bytes, std::vector<std::byte>& out) = 0;
  // Ends the member, unless it is empty.
  virtual void end_member(std::vector<std::byte>& out) = 0;
};

// Null for kNone.
std::unique_ptr<OutputEncoder> make_encoder(OutputCompression compression);

}  // namespace crochet::inline v0::internal
