// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Marks what a shared crochet offers to programs. Everything else is hidden in the library.
#define CROCHET_EXPORT __attribute__((visibility("default")))
