// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Marks what a shared libcrochet offers to programs, and to libcrochet_tensorflow and
// libcrochet_testing. Everything else is hidden in the library.
#define CROCHET_EXPORT __attribute__((visibility("default")))
