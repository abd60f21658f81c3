// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tracking/internal/distribution_state.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {
namespace {

// long double holds every integer of 64 bits.
using Real = long double;

// The numbers of a text, in order.
class TextNumbers {
 public:
  explicit TextNumbers(const std::string& text) {
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      Real number = 0;
      const char* const end = word.data() + word.size();
      const auto [rest, error] = std::from_chars(word.data(), end, number);
      if (error != std::errc() || rest != end || !std::isfinite(number)) throw_bad_distribution();
      numbers_.push_back(number);
    }
  }

  size_t left() const { return numbers_.size() - next_; }
  Real take() {
    if (left() == 0) throw_bad_distribution();
    return numbers_[next_++];
  }
  Real previous() const {
    return next_ < 2 ? std::numeric_limits<Real>::lowest() : numbers_[next_ - 2];
  }

 private:
  std::vector<Real> numbers_;
  size_t next_ = 0;
};

// `num_bounds` increasing bounds, and weights, of which one is above 0.
void check_weights(TextNumbers& numbers, size_t num_bounds) {
  Real last = std::numeric_limits<Real>::lowest();
  for (size_t i = 0; i < num_bounds; ++i) {
    const Real bound = numbers.take();
    if (bound <= last) throw_bad_distribution();
    last = bound;
  }
  if (numbers.left() == 0) return;
  bool has_weight = false;
  while (numbers.left() > 0) {
    const Real weight = numbers.take();
    if (weight < 0) throw_bad_distribution();
    has_weight = has_weight || weight > 0;
  }
  if (!has_weight) throw_bad_distribution();
}

void check_weighted(TextNumbers& numbers, char kind) {
  const Real count = numbers.take();
  const auto left = static_cast<Real>(numbers.left());
  const Real expected = kind == 'D' ? count : kind == 'C' ? 2 * count + 1 : 2 * count + 2;
  if (count < 0 || left != expected || (kind != 'D' && count < 1)) throw_bad_distribution();
  check_weights(numbers, kind == 'D' ? 0 : static_cast<size_t>(count) + 1);
}

bool fits(char rule, Real number, Real previous) {
  switch (rule) {
    case '<':
      return number >= previous;
    case 'p':
      return number > 0;
    case 'o':
      return number >= 0;
    case 'u':
      return number >= 0 && number <= 1;
    case 'x':
      return number > 0 && number < 1;
    case 'h':
      return number > 0 && number <= 1;
    case 'c':
      return number == 0 || number == 1;
    default:
      return true;
  }
}

}  // namespace

void throw_bad_distribution() {
  throw InvalidArgumentError(
      "the state of a distribution: the stored text is not a state of this distribution type");
}

std::string readable_text(const std::string& text, std::string_view grammar) {
  if (grammar != "C") return text;
  TextNumbers numbers(text);
  const auto count = static_cast<size_t>(numbers.take());
  std::vector<Real> bounds(count + 1);
  for (Real& bound : bounds) bound = numbers.take();
  std::string readable = fmt::format("{}", count);
  for (const Real bound : bounds) readable += fmt::format(" {:.20e}", bound);
  for (size_t i = 0; i < count; ++i)
    readable += fmt::format(" {:.20e}", numbers.take() * (bounds[i + 1] - bounds[i]));
  return readable;
}

std::pair<long double, long double> first_numbers(const std::string& text) {
  TextNumbers numbers(text);
  const Real first = numbers.take();
  return {first, numbers.take()};
}

void check_distribution_text(const std::string& text, std::string_view grammar) {
  TextNumbers numbers(text);
  for (const char rule : grammar) {
    if (rule == 'D' || rule == 'C' || rule == 'L') {
      check_weighted(numbers, rule);
      continue;
    }
    const Real number = numbers.take();
    if (!fits(rule, number, numbers.previous())) throw_bad_distribution();
    if (rule == 'c' && number == 1) numbers.take();
  }
  if (numbers.left() > 0) throw_bad_distribution();
}

}  // namespace crochet::inline v0::internal
