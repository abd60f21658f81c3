// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "crochet/checkpoint/saver/internal/background_saver.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/crochet.h"
#include "page_cache.h"
#include "save_timeline.h"
#include "timeline_hook.h"

// A line of /proc/self/status in bytes: "VmRSS:" is the memory in use, "VmHWM:" its peak, which
// writing to clear_refs resets.
inline size_t memory(std::string_view line_name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(line_name)) return std::stoull(line.substr(line_name.size())) * 1024;
  return 0;
}
inline void forget_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

// Saves in the background whenever the timeline requests it.
class SavingHook final : public TimelineHook {
 public:
  SavingHook(const SavesToMeasure& options, Timeline& timeline, int shards = 1)
      : TimelineHook(timeline),
        options_(options),
        saver_({.num_shards = shards, .max_to_keep = options.saves}),
        background_(saver_) {}

  // The state still exists: measures restoring it.
  void end(crochet::Session& session) override {
    background_.wait();
    peak_ = memory("VmHWM:");
    drop_from_page_cache(options_.dir);
    const double start = now();
    saver_.restore(session, ticket_->prefix());
    restore_s_ = now() - start;
  }
  crochet::HookPlace place() const override { return crochet::HookPlace::kSaver; }

  double restore_s() const { return restore_s_; }
  size_t extra_memory() const { return peak_ - std::min(peak_, baseline_.value_or(0)); }

 protected:
  Timeline::Save save(crochet::SessionRunContext& context) override {
    if (!baseline_) {
      baseline_ = memory("VmRSS:");
      forget_peak_memory();
    }
    const double start = now();
    crochet::Snapshot snapshot = saver_.snapshot(context.session());
    const double snapshot_s = now() - start;
    ticket_ = background_.enqueue(std::move(snapshot), options_.dir + "/model.ckpt",
                                  static_cast<int64_t>(steps()));
    const double blocked_s = now() - start;
    const auto written = [ticket = *ticket_]() -> std::optional<Written> {
      if (!ticket.finished()) return {};
      ticket.wait();  // Throws the error of a save that failed.
      return Written{ticket.seconds(crochet::SaveStage::kDurable).value(),
                     ticket.seconds(crochet::SaveStage::kPublished).value(),
                     ticket.num_bytes() - ticket.shared_bytes()};
    };
    return {start, snapshot_s, blocked_s, written};
  }

 private:
  const SavesToMeasure& options_;
  crochet::Saver saver_;
  crochet::internal::BackgroundSaver background_;
  std::optional<size_t> baseline_;
  std::optional<crochet::SaveTicket> ticket_;  // Of the last save.
  size_t peak_ = 0;
  double restore_s_ = 0;
};
