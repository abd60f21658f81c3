// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "crochet/group/group.h"
#include "crochet/libtorch/internal/named_tensors.h"

namespace crochet::inline v0::libtorch::internal {

// Called by all ranks: compares the lines of each with those of rank 0, by a checksum first.
// Throws: InvalidArgumentError in all ranks, which names the first rank that differs, and its first
// line that does.
void check_same_lines(Group& group, const std::vector<std::string>& lines);
// 'parameter "fc.weight": float [64, 10], requires grad'.
std::string describe_layout(const char* kind, const NamedTensor& value);

}  // namespace crochet::inline v0::libtorch::internal
