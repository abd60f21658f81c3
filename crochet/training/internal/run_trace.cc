// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/internal/run_trace.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {
namespace {

// What leads to a stage.
constexpr std::pair<SaveStage, const char*> kStages[] = {{SaveStage::kSnapshotted, "copy"},
                                                         {SaveStage::kWritten, "write"},
                                                         {SaveStage::kDurable, "sync"},
                                                         {SaveStage::kPublished, "publish"}};

}  // namespace

void RunTrace::begin(Clock::TimePoint now) {
  is_on_ = true;
  begin_ = now;
  spans_.clear();
}

void RunTrace::add(std::string_view name, Clock::TimePoint start, Clock::TimePoint end) noexcept {
  start = std::max(start, begin_);
  try {
    spans_.push_back({.track = "training",
                      .name = std::string(name),
                      .start = start - begin_,
                      .duration = end - start});
  } catch (const std::bad_alloc&) {
  }
}

void RunTrace::follow(const SaveTicket& ticket, Clock::TimePoint begin,
                      Clock::TimePoint taken) noexcept {
  try {
    if (!is_on_) std::erase_if(saves_, [](const Save& save) { return save.ticket.finished(); });
    saves_.push_back({ticket, begin, taken});
  } catch (const std::bad_alloc&) {
  } catch (const FailedPreconditionError&) {  // The child of a fork.
  }
}

std::vector<TraceSpan> RunTrace::take(Clock::TimePoint now) {
  for (const Save& save : saves_) add_stages(save, now);
  std::erase_if(saves_, [](const Save& save) { return save.ticket.finished(); });
  is_on_ = false;
  return std::exchange(spans_, {});
}

void RunTrace::add_stages(const Save& save, Clock::TimePoint now) {
  // Read first: a stage that is missing then was not reached.
  const bool has_ended = save.ticket.finished();
  Clock::TimePoint start = save.begin;
  for (const auto& [stage, name] : kStages) {
    const auto secs = save.ticket.seconds(stage);
    if (!secs && has_ended) return;  // It has failed.
    const Clock::TimePoint end = secs ? save.taken + from_seconds(*secs) : now;
    if (end >= begin_) {
      const Clock::TimePoint shown = std::max(start, begin_);
      spans_.push_back({.track = "saves in " + directory_of(save.ticket.prefix()),
                        .name = fmt::format("{} {}", name, base_name(save.ticket.prefix())),
                        .start = shown - begin_,
                        .duration = std::max(end, shown) - shown});
    }
    if (!secs) return;
    start = end;
  }
}

}  // namespace crochet::inline v0::internal
