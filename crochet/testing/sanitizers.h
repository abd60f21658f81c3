// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

#undef CROCHET_HAS_FEATURE

}  // namespace crochet
