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

class Opaque {
  int64_t secret_ = 0;
};

struct Listed {
  std::vector<float> weights;
  struct {
    double x = 0;
    std::array<int, 3> counts = {};
  } inner[2];
  std::unique_ptr<Listed> next;
};
struct WithMutex {
  std::mutex mutex;
};
struct WithPointer {
  float* weights = nullptr;
};
struct WithConst {
  const int number = 1;
};
struct WithBase : Listed {
  int more = 0;
};
struct Explicit {
  explicit Explicit(int) {}
  void track(crochet::Tracker&) {}
};
struct WithExplicit {
  int number = 0;
  Explicit it;
};
struct ExplicitDefault {
  explicit ExplicitDefault(int = 0) {}
  void track(crochet::Tracker&) {}
};
struct WithExplicitDefault {
  int number = 0;
  ExplicitDefault it;
};
struct TooMany {
  int a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13;
  int b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12, b13;
  int c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13;
  int d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13;
  int e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12, e13;
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
