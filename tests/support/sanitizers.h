// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace crochet {

// True in a program built with that sanitizer. GCC defines macros, clang has features.
#if defined(__has_feature)
#define CROCHET_HAS_FEATURE(feature) __has_feature(feature)
#else
#define CROCHET_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || CROCHET_HAS_FEATURE(address_sanitizer)
inline constexpr bool kHasAddressSanitizer = true;
#else
inline constexpr bool kHasAddressSanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || CROCHET_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kHasThreadSanitizer = true;
#else
inline constexpr bool kHasThreadSanitizer = false;
#endif

// A test that tries each operation in turn tries each n-th one under ThreadSanitizer, which is
// twenty times as slow. A prime, so that it meets all kinds of operations.
inline constexpr int64_t kOperationStride = kHasThreadSanitizer ? 7 : 1;

#undef CROCHET_HAS_FEATURE

}  // namespace crochet
