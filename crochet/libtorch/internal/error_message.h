// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

namespace crochet::inline v0::libtorch::internal {

// The first line of the message of an error of LibTorch, without a backtrace.
std::string first_line(const std::exception& error);

}  // namespace crochet::inline v0::libtorch::internal
