// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace crochet::inline v0::internal {

// The bytes of an uncompressed table (see table_format.h) with these entries, the same that
// TensorFlow's writer gives: the place of every block's end and every restart is part of that.
std::string encode_table(const std::map<std::string, std::string>& entries);

}  // namespace crochet::inline v0::internal
