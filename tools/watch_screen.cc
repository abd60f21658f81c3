// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/watch_screen.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tools/braille.h"
#include "tools/number.h"
#include "tools/story.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

constexpr int kLeastColumns = 40;
// From here on, curves are side by side.
constexpr int kWideColumns = 140;
constexpr int kCurveRows = 6;
constexpr size_t kLeastStory = 5;
// The story has this part of a high screen at least.
constexpr double kStoryPart = 0.4;

std::string progress_text(const RunModel& run, int width) {
  const int64_t step = run.last().last_step;
  const auto rate = run.steps_per_sec();
  std::string text = fmt::format("step {}", step);
  if (run.last().of_steps && *run.last().of_steps > 0) {
    const double part =
        std::clamp(static_cast<double>(step) / static_cast<double>(*run.last().of_steps), 0.0, 1.0);
    const int filled = static_cast<int>(part * width);
    text = fmt::format("[{:#<{}}{:-<{}}] {:.0f} %  step {} of {}", "", filled, "", width - filled,
                       100 * part, step, *run.last().of_steps);
  }
  if (rate) text += fmt::format("  {:.3g} steps/s", *rate);
  if (rate && run.last().of_steps && run.end.kind == EndKind::kRunning)
    text += fmt::format("  {} left",
                        duration_text(static_cast<double>(*run.last().of_steps - step) / *rate));
  return text;
}

std::string state_text(const RunHistory& history, double now) {
  const RunModel& run = history.run;
  const std::string heard = duration_text(now - run.last().last);
  if (run.end.kind == EndKind::kRunning)
    return fmt::format("running on {} (process {}), heard of {} ago",
                       printable(run.last().process.host), run.last().process.pid, heard);
  return fmt::format("{} {} ago: {}", end_kind_name(run.end.kind), heard,
                     printable_text(run.end.why));
}

std::string save_text(const RunHistory& history, double now) {
  const RunModel& run = history.run;
  std::string text = "no checkpoint";
  if (run.saved_step) {
    text = fmt::format("saved: step {}", *run.saved_step);
    if (run.saved_time) text += fmt::format(", {} ago", duration_text(now - *run.saved_time));
  }
  const auto& entries = history.journal.entries;
  const auto last = std::find_if(entries.rbegin(), entries.rend(),
                                 [](const auto& entry) { return entry.event == "saved"; });
  if (last != entries.rend())
    text += fmt::format("; blocked {:.2g} s, written after {:.2g} s, durable {:.2g} s",
                        last->number("blocked_secs").value_or(0),
                        last->number("written_secs").value_or(0),
                        last->number("durable_secs").value_or(0));
  if (run.last().saving && run.end.kind == EndKind::kRunning)
    text += fmt::format("; saving step {}", *run.last().saving);
  return text;
}

std::vector<std::string> curve_lines(const Curve& curve, double last_step, int width, int height) {
  std::vector<std::string> lines = {
      fmt::format("{} {}", printable(curve.name), short_text(curve.points.back().second))};
  for (std::string& line : braille_curve(curve.points, last_step, width, height))
    lines.push_back(std::move(line));
  return lines;
}

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// Cut, or filled with spaces, to a number of characters.
std::string fitted(std::string_view text, int width) {
  std::string fit;
  int count = 0;
  for (const char c : text) {
    if (begins_character(c) && ++count > width) return fit;
    fit += c;
  }
  return fit + std::string(static_cast<size_t>(std::max(0, width - count)), ' ');
}

// As many as fit into `rows`, side by side on a wide screen.
void add_curves(const RunHistory& history, ScreenSize size, int rows,
                std::vector<std::string>& lines) {
  const int across = size.columns >= kWideColumns ? 2 : 1;
  const int width = size.columns / across - (across > 1 ? 1 : 0);
  const std::vector<Curve> curves = curves_of(history);
  const double last_step =
      history.points.empty() ? 0 : static_cast<double>(history.points.rbegin()->first);
  for (size_t next = 0; next < curves.size() && rows > kCurveRows;) {
    std::vector<std::string> block(kCurveRows + 1);
    for (int i = 0; i < across && next < curves.size(); ++i, ++next) {
      const auto drawn = curve_lines(curves[next], last_step, width, kCurveRows);
      for (size_t j = 0; j < block.size(); ++j) block[j] += fitted(drawn[j], width) + " ";
    }
    for (std::string& line : block) lines.push_back(std::move(line));
    rows -= kCurveRows + 1;
  }
}

std::vector<std::string> story_lines(const RunHistory& history) {
  std::vector<std::string> lines;
  for (const StoryLine& line : story_of(history)) {
    const std::string time = time_text(line.time);
    lines.push_back(fmt::format("{} {}  {}", time.size() > 16 ? time.substr(5, 5) : "-",
                                time.size() > 16 ? time.substr(11, 5) : "",
                                printable_text(line.text)));
  }
  return lines;
}

}  // namespace

std::vector<std::string> watch_screen(const RunHistory& history, double now, ScreenSize size,
                                      int& scroll) {
  size.columns = std::max(size.columns, kLeastColumns);
  const auto rows = static_cast<size_t>(std::max(size.rows, 8));
  std::vector<std::string> lines = {
      fmt::format("{}  {}", printable(history.run.directory), state_text(history, now)),
      progress_text(history.run, size.columns / 4), save_text(history, now), ""};
  const auto for_story =
      std::max(kLeastStory, static_cast<size_t>(kStoryPart * static_cast<double>(rows)));
  const int free = static_cast<int>(rows - lines.size()) - static_cast<int>(for_story) - 1;
  add_curves(history, size, free, lines);

  const std::vector<std::string> story = story_lines(history);
  const size_t room = rows - lines.size() - 1;
  const size_t hidden = story.size() > room ? story.size() - room : 0;
  scroll = std::clamp(scroll, 0, static_cast<int>(hidden));
  const size_t begin = hidden - static_cast<size_t>(scroll);
  for (size_t i = begin; i < std::min(story.size(), begin + room); ++i) lines.push_back(story[i]);
  lines.resize(rows - 1);
  std::string keys = "q quits";
  if (hidden > 0)
    keys += fmt::format(", up and down scroll: lines {} to {} of {}", begin + 1,
                        std::min(story.size(), begin + room), story.size());
  lines.push_back(keys);
  for (std::string& line : lines) line = fitted(line, size.columns);
  return lines;
}

}  // namespace crochet::tool
