// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/internal/check_number.h"
#include "crochet/base/log.h"
#include "crochet/hooks/guards/preemption_hook.h"

namespace crochet::inline v0 {
namespace {

constexpr std::chrono::milliseconds kInterval(100);
// By which a file's time may be before that of the clock.
constexpr double kClockSecs = 0.05;

class PreemptionFile final : public PreemptionSource {
 public:
  PreemptionFile(std::string path, double grace_secs, FileSystem& files, Clock& clock)
      : path_(std::move(path)),
        grace_secs_(grace_secs),
        files_(files),
        clock_(clock),
        oldest_time_(clock.wall_time() - kClockSecs) {
    internal::check_at_least("preemption_file: grace_secs", grace_secs, 0);
  }

  std::optional<PreemptionNotice> wait(const std::stop_token& stop) override {
    for (; !stop.stop_requested(); clock_.sleep_for(kInterval, stop)) {
      if (!files_.exists(path_)) continue;
      const double time = files_.modified_time(path_);
      if (time >= oldest_time_)
        return PreemptionNotice{fmt::format("{} announces the end of the process", path_),
                                time + grace_secs_};
      if (!std::exchange(has_logged_, true))
        log_warning(fmt::format("{} is older than this process: it is not heeded", path_));
    }
    return std::nullopt;
  }

 private:
  const std::string path_;
  const double grace_secs_;
  FileSystem& files_;
  Clock& clock_;
  const double oldest_time_;
  bool has_logged_ = false;
};

}  // namespace

std::shared_ptr<PreemptionSource> preemption_file(std::string path, double grace_secs,
                                                  FileSystem* files, Clock* clock) {
  return std::make_shared<PreemptionFile>(std::move(path), grace_secs, FileSystem::or_posix(files),
                                          Clock::or_real(clock));
}

}  // namespace crochet::inline v0
