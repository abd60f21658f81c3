// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/random.h"

#include <sys/random.h>

#include <random>

namespace crochet::inline v0::internal {

uint64_t random_number() {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) == sizeof(number)) return number;
  std::random_device device;  // In a sandbox that refuses getrandom().
  return uint64_t{device()} << 32 | device();
}

}  // namespace crochet::inline v0::internal
