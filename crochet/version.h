// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The version of crochet. While the first number is 0, a new second one may change interfaces; it
// then changes the inline namespace and the SONAME too, so that two versions do not mix in one
// process. CHANGELOG.md says which formats each version reads and writes.
#define CROCHET_VERSION_MAJOR 0
#define CROCHET_VERSION_MINOR 1
#define CROCHET_VERSION_PATCH 0
#define CROCHET_VERSION "0.1.0"
