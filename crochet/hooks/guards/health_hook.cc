// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/health_hook.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/base/log.h"
#include "crochet/hooks/guards/internal/forecast.h"
#include "crochet/hooks/guards/internal/machine_health.h"

namespace crochet::inline v0 {
namespace {

// A machine that is set by a time server is moved by less.
constexpr double kJumpSecs = 5;

std::string hours_text(double secs) {
  return secs < 2 * 3600 ? fmt::format("{:.0f} min", secs / 60)
                         : fmt::format("{:.1f} h", secs / 3600);
}

std::string gigabytes(double bytes) { return fmt::format("{:.2f} GB", bytes / 1e9); }

}  // namespace

class HealthHook::Watch {
 public:
  Watch(HealthHookOptions options, FileSystem& files, Clock& clock)
      : options_(std::move(options)), files_(files), clock_(clock), offset_(offset()) {}

  void look(const internal::MachineHealth& health) {
    const double secs = to_seconds(clock_.now().time_since_epoch());
    look_at_memory(secs, health);
    look_at_disk(secs);
    look_at_clock();
    corrected_.look(health.corrected_errors, [](uint64_t count) {
      return fmt::format(
          "the machine's memory had {} corrected errors since the run began (EDAC): "
          "it may fail soon",
          count);
    });
    uncorrected_.look(health.uncorrected_errors, [](uint64_t count) {
      return fmt::format(
          "the machine's memory had {} errors that were not corrected since the run "
          "began (EDAC): its results may be wrong",
          count);
    });
    throttled_.look(health.throttled, [](uint64_t count) {
      return fmt::format(
          "processors were slowed {} times since the run began, as they were too hot", count);
    });
  }

 private:
  void look_at_memory(double secs, const internal::MachineHealth& health) {
    if (!health.used_bytes || !health.limit_bytes) return;
    const auto limit = static_cast<double>(*health.limit_bytes);
    memory_.look(secs, static_cast<double>(*health.used_bytes), limit, options_.horizon_secs,
                 [&](double left) {
                   return fmt::format(
                       "memory is full in {} at this rate: {} of {} are used, {} of it by this "
                       "process",
                       hours_text(left), gigabytes(static_cast<double>(*health.used_bytes)),
                       gigabytes(limit),
                       gigabytes(static_cast<double>(health.memory_bytes.value_or(0))));
                 });
  }

  void look_at_disk(double secs) {
    if (options_.dir.empty()) return;
    double free = 0;
    try {
      free = static_cast<double>(files_.free_bytes(options_.dir));
    } catch (const Error&) {  // The saver says what is wrong with the directory.
      return;
    }
    // What is free falls: its negative grows, up to 0.
    disk_.look(secs, -free, 0, options_.horizon_secs, [&](double left) {
      return fmt::format("{}: the disk is full in {} at this rate: {} are free", options_.dir,
                         hours_text(left), gigabytes(free));
    });
  }

  void look_at_clock() {
    const double now = offset();
    const double jump = now - std::exchange(offset_, now);
    if (std::abs(jump) < kJumpSecs) return;
    log_warning(
        fmt::format("the machine's clock has jumped by {:+.0f} s: times in files before and "
                    "after that do not compare",
                    jump));
  }

  // Of the two clocks, of which only the wall clock can be set.
  double offset() const { return clock_.wall_time() - to_seconds(clock_.now().time_since_epoch()); }

  // Something that grows towards a limit.
  class Growth {
   public:
    // Logs `text(secs left)` if the limit is near, and again once half of that time is left.
    template <typename Text>
    void look(double secs, double value, double limit, double horizon_secs, const Text& text) {
      forecast_.add(secs, value);
      const auto left = forecast_.secs_until(limit);
      if (!left || *left > horizon_secs) {
        warned_at_ = std::numeric_limits<double>::infinity();
        return;
      }
      if (*left > warned_at_ / 2) return;
      warned_at_ = *left;
      log_warning(text(*left));
    }

   private:
    internal::Forecast forecast_;
    double warned_at_ = std::numeric_limits<double>::infinity();  // The time that was left.
  };

  // Something that should not happen, counted since the machine was started.
  class Count {
   public:
    // Logs `text(how often in this run)` at the first, the second, the fourth, and so on.
    template <typename Text>
    void look(const std::optional<uint64_t>& count, const Text& text) {
      if (!count) return;
      if (!first_ || *count < *first_) first_ = *count;
      const uint64_t in_run = *count - *first_;
      if (in_run < next_) return;
      log_warning(text(in_run));
      while (next_ <= in_run) next_ *= 2;
    }

   private:
    std::optional<uint64_t> first_;
    uint64_t next_ = 1;
  };

  const HealthHookOptions options_;
  FileSystem& files_;
  Clock& clock_;
  double offset_;
  Growth memory_;
  Growth disk_;
  Count corrected_;
  Count uncorrected_;
  Count throttled_;
};

HealthHook::HealthHook(HealthHookOptions options)
    : options_(std::move(options)),
      clock_(&Clock::or_real(options_.clock)),
      files_(&FileSystem::or_posix(options_.files)) {
  internal::check_above("HealthHook: horizon_secs", options_.horizon_secs, 0);
  internal::check_above("HealthHook: every_secs", options_.every_secs, 0);
  options_.dir = files_->fixed_path(options_.dir);
}

HealthHook::~HealthHook() = default;
HealthHook::HealthHook(HealthHook&&) noexcept = default;

void HealthHook::after_create_session(Session&, Coordinator&) {
  if (!watch_) watch_ = std::make_unique<Watch>(options_, *files_, *clock_);
  next_look_ = clock_->coarse_now();
}

void HealthHook::after_run(SessionRunContext&, const SessionRunValues&) {
  const Clock::TimePoint now = clock_->coarse_now();
  if (!watch_ || now < next_look_) return;
  next_look_ = now + from_seconds(options_.every_secs);
  watch_->look(internal::read_machine_health(options_.root));
}

}  // namespace crochet::inline v0
