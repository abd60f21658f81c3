// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Tracks TRACKED(), a temporary or a variable of this type; compiled, never run. See
// refusals.cmake.
#include <span>
#include <string>
#include <vector>

#include "crochet/run/tracker.h"

struct Opaque {
  int64_t secret = 0;
};

struct Parts {
  float* number = nullptr;
  void track(crochet::Tracker& tracker) { tracker("number", *number); }
};

struct SavesOnly {
  crochet::TensorMap save() const { return {}; }
};

#ifdef TEMPORARY
void track_it(crochet::Tracker& tracker) { tracker("it", TRACKED()); }
#else
void track_it(crochet::Tracker& tracker, TRACKED& value) { tracker("it", value); }
#endif
