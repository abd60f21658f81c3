// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Tracks TRACKED(), a temporary or a variable of this type; compiled, never run. See
// refusals.cmake.
#include <any>
#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <span>
#include <stack>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "crochet/tracking/tracker.h"

struct Opaque {
  int64_t secret = 0;
};

struct Parts {
  float* number = nullptr;
  void track(crochet::Tracker& tracker) { tracker("number", *number); }
};

// With QUALIFIER=const, their parts are const where they are listed.
#ifndef QUALIFIER
#define QUALIFIER
#endif
struct ByMember {
  std::vector<float> weights;
  void track(crochet::Tracker& tracker) QUALIFIER { tracker("weights", weights); }
};
struct ByFunction {
  std::vector<float> weights;
};
void track(crochet::Tracker& tracker, QUALIFIER ByFunction& it) { tracker("weights", it.weights); }

// The number itself is not const.
struct ConstView {
  float* number = nullptr;
  void track(crochet::Tracker& tracker) const { tracker("number", *number); }
};

// A tracker may be copied.
struct TrackByValue {
  std::vector<float> weights;
  void track(crochet::Tracker tracker) { tracker("weights", weights); }
};

struct SavesOnly {
  crochet::TensorMap save() const { return {}; }
};

// Neither can be compared, so nothing gives its values an order.
struct Unordered {
  int value = 0;
  void track(crochet::Tracker& tracker) { tracker("value", value); }
  friend bool operator==(const Unordered&, const Unordered&) = default;
};
template <>
struct std::hash<Unordered> {
  size_t operator()(const Unordered& key) const { return static_cast<size_t>(key.value); }
};

#ifdef TEMPORARY
void track_it(crochet::Tracker& tracker) { tracker("it", TRACKED()); }
#else
void track_it(crochet::Tracker& tracker, TRACKED& value) { tracker("it", value); }
#endif
