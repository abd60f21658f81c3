// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace crochet::inline v0::internal {

// To be called after each function of ISA-L. With AVX they leave the upper halves of the vector
// registers in use: until these are cleared, all code of this thread that is compiled without AVX
// waits for them, and may take five times as long.
#ifdef __x86_64__
__attribute__((target("avx"))) inline void clear_upper_halves() { _mm256_zeroupper(); }

inline void after_isal() {
  static const bool has_avx = __builtin_cpu_supports("avx") != 0;
  if (has_avx) clear_upper_halves();
}
#else
inline void after_isal() {}
#endif

}  // namespace crochet::inline v0::internal
