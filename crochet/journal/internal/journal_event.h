// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// The files of the journal in a run's directory: the present one, and the one before it, which was
// renamed when it had kMaxJournalBytes.
inline constexpr std::string_view kJournalName = "events.jsonl";
inline constexpr std::string_view kOldJournalName = "events.old.jsonl";
inline constexpr uint64_t kMaxJournalBytes = uint64_t{64} << 20;

// What all events have. docs/operating.md describes the format.
struct JournalStamp {
  int64_t life = 0;   // The number of the process among all that have made this run, from 1 on.
  int64_t step = 0;   // As far as it was known.
  double time = 0;    // In seconds since 1970-01-01 UTC.
  double steady = 0;  // In seconds of the machine's monotonic clock, which begins when it starts.
};

// Something that happened to a run.
class CROCHET_EXPORT JournalEvent {
 public:
  using Value = std::variant<bool, int64_t, double, std::string, std::vector<std::string>>;

  // Without a step: the one that the journal knows then.
  explicit JournalEvent(std::string name, std::optional<int64_t> step = {})
      : name_(std::move(name)), step_(step) {}

  // Not copied: to copy a std::variant of texts and lists where memory is short ends the process,
  // in the standard library of g++ 12.
  JournalEvent(JournalEvent&&) noexcept = default;
  JournalEvent& operator=(JournalEvent&&) noexcept = default;
  ~JournalEvent() = default;

  template <typename T>
  JournalEvent& with(std::string_view key, const T& value) & {
    add(key, value);
    return *this;
  }
  template <typename T>
  JournalEvent&& with(std::string_view key, const T& value) && {
    add(key, value);
    return std::move(*this);
  }

  const std::optional<int64_t>& step() const { return step_; }
  // One line of JSON, with its end. Long texts are cut.
  std::string line(const JournalStamp& stamp) const;

 private:
  template <typename T>
  void add(std::string_view key, const T& value) {
    if constexpr (std::same_as<T, bool> || std::same_as<T, std::vector<std::string>>)
      fields_.emplace_back(std::string(key), value);
    else if constexpr (std::integral<T>)
      fields_.emplace_back(std::string(key), static_cast<int64_t>(value));
    else if constexpr (std::floating_point<T>)
      fields_.emplace_back(std::string(key), double{value});
    else
      fields_.emplace_back(std::string(key), std::string(value));
  }

  std::string name_;
  std::optional<int64_t> step_;
  std::vector<std::pair<std::string, Value>> fields_;
};

}  // namespace crochet::inline v0::internal
