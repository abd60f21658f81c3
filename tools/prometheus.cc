// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/prometheus.h"

#include <cmath>
#include <functional>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "tools/text.h"

namespace crochet::tool {
namespace {

// A value of a label. What is not UTF-8 would make the whole page unreadable.
std::string label(std::string_view text) {
  std::string escaped;
  for (const char c : json_text(text)) {
    if (c == '\n') {
      escaped += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

// One metric: its head, and a line for each run that has a value.
class Family {
 public:
  Family(std::string& text, std::string_view name, std::string_view type, std::string_view help)
      : text_(text), name_(name) {
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
  }
  void add(const NamedRun& run, double value, std::string_view labels = "") {
    text_ += fmt::format("{}{{run=\"{}\"{}}} {}\n", name_, label(run.name), labels, number(value));
  }

 private:
  std::string& text_;
  const std::string_view name_;
};

using Value = std::function<std::optional<double>(const RunHistory& history)>;

void add_gauge(std::string& text, const std::vector<NamedRun>& runs, std::string_view name,
               std::string_view help, const Value& value) {
  Family family(text, name, "gauge", help);
  for (const NamedRun& run : runs)
    if (const auto found = value(run.history)) family.add(run, *found);
}

template <typename T>
std::optional<double> as_double(const std::optional<T>& value) {
  if (!value) return std::nullopt;
  return static_cast<double>(*value);
}

}  // namespace

std::string prometheus_text(const std::vector<NamedRun>& runs) {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view help, const Value& value) {
    add_gauge(text, runs, name, help, value);
  };
  add("crochet_run_up", "Whether a process of the run is alive.", [](const RunHistory& history) {
    return history.run.end.kind == EndKind::kRunning ? 1.0 : 0.0;
  });
  add("crochet_run_failed", "Whether the run ended as nobody asked it to.",
      [](const RunHistory& history) { return is_as_wanted(history.run.end.kind) ? 0.0 : 1.0; });
  add("crochet_run_step", "Completed steps, as of the last event.",
      [](const RunHistory& history) { return static_cast<double>(history.run.last().last_step); });
  add("crochet_run_last_step", "The step at which the run is to end.",
      [](const RunHistory& history) { return as_double(history.run.last().of_steps); });
  add("crochet_run_steps_per_second", "Of the process that made the last steps.",
      [](const RunHistory& history) { return history.run.steps_per_sec(); });
  add("crochet_run_last_event_timestamp_seconds", "When the run was last heard of.",
      [](const RunHistory& history) { return history.run.last().last; });
  add("crochet_run_checkpoint_step", "The step of the newest checkpoint.",
      [](const RunHistory& history) { return as_double(history.run.saved_step); });
  add("crochet_run_checkpoint_timestamp_seconds", "When its state was taken.",
      [](const RunHistory& history) { return history.run.saved_time; });
  add("crochet_run_lives", "The processes that have made the run.",
      [](const RunHistory& history) { return static_cast<double>(history.run.lives.size()); });
  add("crochet_run_goodput_ratio", "The part of the time that went into steps made the first time.",
      [](const RunHistory& history) { return history.goodput.part(); });
  Family uses(text, "crochet_run_seconds_total", "counter",
              "Where the time of the run went, over all its processes.");
  for (const NamedRun& run : runs)
    for (size_t i = 0; i < kNumTimeUses; ++i) {
      const auto use = static_cast<TimeUse>(i);
      uses.add(run, run.history.goodput.of(use), fmt::format(",use=\"{}\"", time_use_key(use)));
    }
  Family metrics(text, "crochet_run_metric", "gauge", "The last value of each curve.");
  for (const NamedRun& run : runs)
    for (const Curve& curve : curves_of(run.history))
      metrics.add(run, curve.points.back().second, fmt::format(",name=\"{}\"", label(curve.name)));
  return text;
}

}  // namespace crochet::tool
