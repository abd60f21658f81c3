// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/progress_bar_hook.h"

#include <algorithm>
#include <atomic>
#include <string_view>

#include <fmt/format.h>

#include "crochet/base/internal/log_listener.h"
#include "crochet/hooks/internal/from_tensor.h"
#include "crochet/hooks/internal/global_step.h"
#include "crochet/hooks/internal/terminal_line.h"

namespace crochet::inline v0 {
namespace {

constexpr std::chrono::milliseconds kRedrawEvery(100);
// Steps/s are averaged over this time: short enough to follow changes, long enough not to flicker.
constexpr std::chrono::seconds kRateOver(5);

std::string format_value(const std::string& name, const Tensor& value) {
  if (!value.is_set()) return "-";
  return fmt::format("{:.4g}", internal::number_of("ProgressBarHook: ", name, value));
}

int64_t tenth(int64_t step, int64_t last_step) { return last_step > 0 ? step * 10 / last_step : 0; }

}  // namespace

// Where progress is shown: a line of a terminal, or lines of a file.
class ProgressBarHook::Screen {
 public:
  explicit Screen(std::FILE* stream) : stream_(stream), traits_(internal::terminal_traits(stream)) {
    if (traits_.is_terminal) line_.emplace(stream);
  }

  bool is_terminal() const { return traits_.is_terminal; }

  void show(const internal::Progress& progress) {
    if (line_) {
      // The last column stays free: some terminals wrap once it is written.
      line_->draw(
          internal::render_progress_bar(progress, {.width = internal::terminal_width(stream_) - 1,
                                                   .color = traits_.color,
                                                   .unicode = traits_.unicode}));
    } else {
      // fmt::print would throw if the stream cannot be written, and end training.
      std::fputs((internal::render_progress_line(progress) + '\n').c_str(), stream_);
      std::fflush(stream_);
    }
  }

 private:
  std::FILE* stream_;
  const internal::TerminalTraits traits_;
  std::optional<internal::TerminalLine> line_;
};

// Counts those of the log.
class ProgressBarHook::Warnings final : public internal::LogListener {
 public:
  void on_line(Severity severity, std::string_view) noexcept override {
    if (severity >= Severity::kWarning) count_.fetch_add(1, std::memory_order_relaxed);
  }
  int64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> count_ = 0;
};

ProgressBarHook::ProgressBarHook(ProgressBarHookOptions options)
    : options_(std::move(options)), clock_(&Clock::or_real(options_.clock)) {}

ProgressBarHook::~ProgressBarHook() = default;
ProgressBarHook::ProgressBarHook(ProgressBarHook&&) noexcept = default;

void ProgressBarHook::begin(Graph& graph) {
  step_ = internal::require_global_step(graph, *this);
  Fetches::List outputs;
  for (const std::string& name : options_.values) outputs.emplace_back(graph.output(name));
  request_ = std::move(outputs);
  progress_ = {};
  warnings_ = std::make_shared<Warnings>();
  internal::add_log_listener(warnings_);
  for (const std::string& name : options_.values) progress_.values.emplace_back(name, "-");
}

void ProgressBarHook::after_create_session(Session& session, Coordinator&) {
  progress_.step = shown_step_ = read_global_step(session);
  shown_at_ = clock_->now();
  history_ = {{shown_at_, shown_step_}};
  // Not in begin: log lines of restoring need no room above a bar.
  if (!screen_) screen_ = std::make_shared<Screen>(options_.stream);
}

bool ProgressBarHook::is_due(int64_t step, std::optional<int64_t> last_step) const {
  if (last_step && step >= *last_step) return true;
  const auto since = clock_->now() - shown_at_;
  if (screen_->is_terminal()) return since >= kRedrawEvery;
  if (since >= from_seconds(options_.every_secs)) return true;
  return last_step &&
         tenth(step, *last_step) != tenth(std::max<int64_t>(shown_step_, 0), *last_step);
}

std::optional<SessionRunArgs> ProgressBarHook::before_run(SessionRunContext& context) {
  internal::require_session(screen_ != nullptr, *this);
  ++progress_.step;
  requested_ = is_due(progress_.step, context.last_step());
  if (!requested_) return std::nullopt;
  return SessionRunArgs{.fetches = Fetches::List{step_, request_}};
}

void ProgressBarHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  if (!requested_) return;
  progress_.step = shown_step_ = read_global_step(context.session());
  progress_.last_step = context.last_step();
  shown_at_ = clock_->now();
  measure_rate();
  for (size_t i = 0; i < progress_.values.size(); ++i) {
    auto& [name, text] = progress_.values[i];
    text = format_value(name, values.results[1][i].tensor());
  }
  progress_.num_warnings = warnings_->count();
  progress_.activity = context.activity();
  screen_->show(progress_);
}

void ProgressBarHook::measure_rate() {
  while (history_.size() > 1 && shown_at_ - history_[1].first >= kRateOver)
    history_.erase(history_.begin());
  const double secs = to_seconds(shown_at_ - history_.front().first);
  const int64_t steps = shown_step_ - history_.front().second;
  if (steps > 0 && secs > 0) progress_.steps_per_sec = static_cast<double>(steps) / secs;
  history_.emplace_back(shown_at_, shown_step_);
}

void ProgressBarHook::end(Session&) {
  screen_.reset();
  warnings_.reset();
}

void ProgressBarHook::on_error(std::exception_ptr) {
  screen_.reset();
  warnings_.reset();
}

}  // namespace crochet::inline v0
