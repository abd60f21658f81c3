// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace crochet {

// A number that no other call gets, in this process or another one, forked ones included: for
// names of temporary files. Thread-safe.
uint64_t random_number();

}  // namespace crochet
