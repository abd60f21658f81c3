// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet report: what happened to a run, as a page or as text.
#include "tools/report.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/chart.h"
#include "tools/html.h"
#include "tools/number.h"
#include "tools/run_model.h"
#include "tools/story.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

const CommandHelp kReportHelp = {
    .name = "report",
    .description =
        "Report what happened to a run: its lives and how they ended, where the time went, its\n"
        "curves and saves; as a page for a browser, which needs no other file",
    .examples =
        "  crochet report runs/digits > digits.html\n"
        "  crochet report --text runs/digits      # in the terminal\n"
        "  crochet report --json runs/digits | jq .goodput.part",
};

// How the names of fields of a start begin.
constexpr std::string_view kOptions = "options/";
constexpr std::string_view kHyperparameters = "hyperparameters/";

struct ReportOptions {
  std::string directory = ".";
  bool as_text = false;
};

const char* tone_class(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "good";
    case Tone::kWarning:
      return "warning";
    case Tone::kBad:
      return "bad";
    default:
      return "";
  }
}

Tone tone_of(EndKind kind) {
  switch (kind) {
    case EndKind::kRunning:
    case EndKind::kStopped:
      return Tone::kGood;
    case EndKind::kSignalled:
      return Tone::kWarning;
    default:
      return Tone::kBad;
  }
}

// "2026-11-29 02:14:07".
std::string clock_text(double unix_time) {
  std::string text = time_text(unix_time);
  if (text.size() != std::string_view("2026-11-29T02:14:07Z").size()) return text;
  text[10] = ' ';
  text.pop_back();
  return text;
}

// Also of what is short.
std::string time_spent(double secs) {
  return secs < 10 ? fmt::format("{:.2g} s", secs) : duration_text(secs);
}

std::string reached_text(const RunModel& run) {
  const Life& life = run.last();
  return life.of_steps ? fmt::format("{} of {}", life.last_step, *life.of_steps)
                       : fmt::format("{}", life.last_step);
}

std::string percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

// ---- As text.

std::string state_line(const RunHistory& history) {
  const RunModel& run = history.run;
  std::string text = fmt::format("{} at step {}", end_kind_name(run.end.kind), reached_text(run));
  text += fmt::format(", {} to {} UTC, {}", clock_text(run.lives.front().start),
                      clock_text(run.last().last),
                      run.lives.size() == 1 ? "1 life" : fmt::format("{} lives", run.lives.size()));
  if (run.saved_step) text += fmt::format("; the newest checkpoint is of step {}", *run.saved_step);
  return text;
}

std::string goodput_text(const Goodput& goodput) {
  std::string text =
      fmt::format("{} of {} were steps", percent(goodput.part()), duration_text(goodput.total()));
  std::string rest;
  for (size_t i = 0; i < kNumTimeUses; ++i) {
    const auto use = static_cast<TimeUse>(i);
    if (use == TimeUse::kSteps || goodput.of(use) < 0.0005 * goodput.total()) continue;
    rest += fmt::format("{}{} {}", rest.empty() ? "" : ", ", time_use_name(use),
                        percent(goodput.of(use) / goodput.total()));
  }
  return rest.empty() ? text : text + "; " + rest;
}

// ---- As JSON.

Json as_json(const Goodput& goodput) {
  Json secs = Json::object();
  for (size_t i = 0; i < kNumTimeUses; ++i)
    secs[time_use_key(static_cast<TimeUse>(i))] = goodput.secs[i];
  Json hooks = Json::object();
  for (const auto& [name, time] : goodput.by_hook) hooks[json_text(name)] = time;
  return {{"part", goodput.part()},  {"total_secs", goodput.total()},
          {"steps", goodput.steps},  {"repeated_steps", goodput.repeated_steps},
          {"secs", std::move(secs)}, {"hooks", std::move(hooks)}};
}

Json as_json(const RunHistory& history) {
  Json story = Json::array();
  for (const StoryLine& line : story_of(history))
    story.push_back(Json{{"time", line.time},
                         {"life", line.life},
                         {"step", line.step},
                         {"text", json_text(line.text)}});
  Json lives = Json::array();
  for (size_t i = 0; i < history.run.lives.size(); ++i) {
    const Life& life = history.run.lives[i];
    lives.push_back(Json{{"life", life.number},
                         {"host", json_text(life.process.host)},
                         {"start", life.start},
                         {"last", life.last},
                         {"first_step", life.first_step},
                         {"last_step", life.last_step},
                         {"end", end_kind_name(history.ends[i].kind)},
                         {"why", json_text(history.ends[i].why)}});
  }
  return {{"directory", json_text(history.run.directory)},
          {"state", end_kind_name(history.run.end.kind)},
          {"lives", std::move(lives)},
          {"goodput", as_json(history.goodput)},
          {"story", std::move(story)}};
}

// ---- As a page.

std::string fact(std::string_view name, const std::string& html) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", name, html);
}

std::string facts(const RunHistory& history, double now) {
  const RunModel& run = history.run;
  std::string html = "<dl class=\"facts\">\n";
  html +=
      fact("State", fmt::format("<span class=\"state {}\">{}</span>",
                                tone_class(tone_of(run.end.kind)), end_kind_name(run.end.kind)));
  html += fact("Step", reached_text(run));
  if (const auto rate = run.steps_per_sec()) html += fact("Steps/s", fmt::format("{:.3g}", *rate));
  if (run.saved_step) html += fact("Newest checkpoint", fmt::format("step {}", *run.saved_step));
  if (!run.metric_name.empty())
    html += fact(html_text(run.metric_name), short_text(run.metric_value));
  html += fact("Goodput", percent(history.goodput.part()));
  html += fact("Lives", fmt::format("{}", run.lives.size()));
  html += fact("Last heard of", clock_text(run.last().last) + " UTC");
  html += fact("Page made", clock_text(now) + " UTC");
  return html + "</dl>\n";
}

std::string life_title(const Life& life, const RunEnd& end) {
  return fmt::format("life {}: steps {} to {}, {} to {}, {}: {}", life.number, life.first_step,
                     life.last_step, clock_text(life.start), clock_text(life.last),
                     end_kind_name(end.kind), end.why);
}

std::string time_line(const RunHistory& history) {
  const std::vector<Life>& lives = history.run.lives;
  std::vector<Piece> pieces;
  std::vector<Piece> marks;
  for (size_t i = 0; i < lives.size(); ++i) {
    if (i > 0)
      pieces.push_back({lives[i - 1].last, lives[i].start, "down",
                        "down for " + duration_text(lives[i].start - lives[i - 1].last)});
    const char* const style = tone_class(tone_of(history.ends[i].kind));
    pieces.push_back({lives[i].start, lives[i].last, style, life_title(lives[i], history.ends[i])});
  }
  for (const internal::JournalEntry& entry : history.journal.entries) {
    const bool is_saved = entry.event == "saved";
    if (!is_saved && entry.event != "save_failed") continue;
    marks.push_back(
        {entry.stamp.time, entry.stamp.time, is_saved ? "good" : "bad",
         fmt::format("step {} {}", entry.stamp.step, is_saved ? "saved" : "not saved")});
  }
  const double begin = lives.front().start;
  const double end = std::max(lives.back().last, begin);
  return "<h2>Lives</h2>\n" + bar(pieces, marks, begin, end, "the lives of the run") +
         fmt::format(
             "<div class=\"ends\"><span>{} UTC</span><span>below: saves</span><span>{} UTC"
             "</span></div>\n",
             clock_text(begin), clock_text(end));
}

std::string story_table(const RunHistory& history) {
  std::vector<std::vector<std::string>> rows;
  for (const StoryLine& line : story_of(history))
    rows.push_back(
        {clock_text(line.time), fmt::format("step {}", line.step),
         fmt::format("<span class=\"{}\">{}</span>", tone_class(line.tone), html_text(line.text))});
  return "<h2>What happened</h2>\n<div class=\"story\">\n" + html_table({"UTC", "", ""}, rows, 3) +
         "</div>\n";
}

std::string goodput_section(const Goodput& goodput) {
  std::vector<Piece> pieces;
  std::vector<std::vector<std::string>> rows;
  double at = 0;
  for (size_t i = 0; i < kNumTimeUses; ++i) {
    const double secs = goodput.secs[i];
    const char* const name = time_use_name(static_cast<TimeUse>(i));
    const std::string part = percent(goodput.total() > 0 ? secs / goodput.total() : 0);
    const std::string style = fmt::format("use{}", i);
    if (secs > 0) pieces.push_back({at, at + secs, style, fmt::format("{}: {}", name, part)});
    at += secs;
    rows.push_back({fmt::format("<svg class=\"key\" viewBox=\"0 0 8 8\" aria-hidden=\"true\">"
                                "<rect class=\"{}\"/></svg>{}",
                                style, name),
                    time_spent(secs), part});
  }
  std::string html = "<h2>Where the time went</h2>\n" +
                     bar(pieces, {}, 0, at, "where the time went") +
                     html_table({"", "time", "part"}, rows, 1);
  html +=
      fmt::format("<p class=\"soft\">{} made for the first time, {} repeated.</p>\n",
                  count_text(static_cast<uint64_t>(goodput.steps), "step"), goodput.repeated_steps);
  if (goodput.by_hook.empty()) return html;
  std::vector<std::pair<double, std::string>> hooks;
  for (const auto& [name, secs] : goodput.by_hook) hooks.emplace_back(secs, name);
  std::ranges::sort(hooks, std::greater<>());
  rows.clear();
  for (const auto& [secs, name] : hooks)
    rows.push_back({html_text(name), fmt::format("{:.3g} s", secs),
                    percent(goodput.total() > 0 ? secs / goodput.total() : 0)});
  return html + "<h2>Time per hook</h2>\n" + html_table({"hook", "time", "part"}, rows, 1);
}

std::string curves(const RunHistory& history) {
  if (history.points.empty()) return "";
  std::vector<double> starts;
  for (const Life& life : history.run.lives)
    if (life.first_step > 0) starts.push_back(static_cast<double>(life.first_step));
  std::string own;
  std::string of_crochet;
  for (const Curve& curve : curves_of(history))
    (is_of_crochet(curve.name) ? of_crochet : own) +=
        line_chart({.title = curve.name, .x_title = "step", .curves = {curve}, .marks = starts});
  std::string html;
  if (!own.empty()) html += "<h2>Curves</h2>\n<div class=\"charts\">\n" + own + "</div>\n";
  if (!of_crochet.empty())
    html +=
        "<details><summary>Curves of what crochet measures</summary>\n<div class=\"charts\">\n" +
        of_crochet + "</div></details>\n";
  return html;
}

std::string saves(const RunHistory& history) {
  constexpr std::array<std::pair<const char*, const char*>, 4> kStages = {
      {{"training waits", "blocked_secs"},
       {"written", "written_secs"},
       {"durable", "durable_secs"},
       {"published", "published_secs"}}};
  Chart chart{.title = "seconds from the snapshot", .x_title = "step"};
  for (const auto& [name, field] : kStages) {
    Curve curve{.name = name};
    for (const internal::JournalEntry& entry : history.journal.entries)
      if (const auto secs = entry.number(field); entry.event == "saved" && secs)
        curve.points.emplace_back(static_cast<double>(entry.stamp.step), *secs);
    std::ranges::stable_sort(curve.points, {}, &std::pair<double, double>::first);
    chart.curves.push_back(std::move(curve));
  }
  std::string html;
  if (!chart.curves.front().points.empty())
    html += "<h2>Saves</h2>\n<div class=\"charts\">\n" + line_chart(chart) + "</div>\n";
  if (history.checkpoints.empty()) return html;
  std::vector<std::vector<std::string>> rows;
  for (const internal::FoundCheckpoint& each : history.checkpoints) {
    const bool is_pinned = each.sidecar && each.sidecar->pinned;
    rows.push_back({html_text(base_name(each.prefix)) + (is_pinned ? " (pinned)" : ""),
                    clock_text(each.unix_time), size_text(each.size_bytes)});
  }
  return html + "<h2>Checkpoints</h2>\n" + html_table({"name", "UTC", "bytes"}, rows, 2);
}

std::string code(const std::string& text) {
  return text.empty() ? "none" : "<code>" + html_text(text) + "</code>";
}

// A row for each name, and a column for each start that changed a value, of which the newest are
// shown.
std::string settings(const RunHistory& history, std::string_view beginning, std::string_view title,
                     std::string_view note) {
  constexpr size_t kMaxColumns = 6;
  using Values = std::map<std::string, std::string>;
  std::vector<std::pair<int64_t, Values>> starts;  // By life.
  std::set<std::string> names;
  for (const internal::JournalEntry& entry : history.journal.entries) {
    if (entry.event != "start") continue;
    Values values = start_fields(entry, beginning);
    if (!starts.empty() && values == starts.back().second) continue;
    for (const auto& [name, value] : values) names.insert(name);
    starts.emplace_back(entry.stamp.life, std::move(values));
    if (starts.size() > kMaxColumns) starts.erase(starts.begin());
  }
  if (names.empty()) return "";
  std::vector<std::string> titles = {""};
  for (const auto& [life, values] : starts) titles.push_back(fmt::format("from life {}", life));
  std::vector<std::vector<std::string>> rows;
  for (const std::string& name : names) {
    rows.push_back({html_text(name)});
    for (const auto& [life, values] : starts) {
      const auto found = values.find(name);
      rows.back().push_back(found == values.end() ? "-" : code(found->second));
    }
  }
  return fmt::format("<h2>{}</h2>\n{}<p class=\"soft\">{}</p>\n", title,
                     html_table(titles, rows, titles.size()), note);
}

std::string about(const RunHistory& history) {
  std::vector<std::vector<std::string>> rows;
  const internal::JournalEntry* const start = last_start(history);
  if (start == nullptr) return "";
  for (const auto& [name, value] : start_fields(*start))
    if (!name.starts_with(kOptions) && !name.starts_with(kHyperparameters))
      rows.push_back({html_text(name), code(value)});
  return settings(history, kOptions, "Options", "All others have their defaults.") +
         settings(history, kHyperparameters, "Hyperparameters", "As the program gave them.") +
         "<h2>The last start</h2>\n" + html_table({"", ""}, rows, 2);
}

}  // namespace

std::string report_page(const RunHistory& history, double now) {
  const std::string& directory = history.run.directory;
  const std::string why = history.run.end.kind == EndKind::kRunning
                              ? ""
                              : fmt::format("<p>{}</p>\n", html_text(history.run.end.why));
  return html_page(directory, fmt::format("<h1>{}</h1>\n{}", html_text(directory), why) +
                                  facts(history, now) + time_line(history) + story_table(history) +
                                  goodput_section(history.goodput) + curves(history) +
                                  saves(history) + about(history));
}

std::string report_text(const RunHistory& history) {
  std::string text = fmt::format("{}: {}\n{}\n\n", printable(history.run.directory),
                                 state_line(history), goodput_text(history.goodput));
  Table table({{"UTC"}, {"STEP", Table::Align::kRight}, {"WHAT HAPPENED"}});
  for (const StoryLine& line : story_of(history))
    table.add({clock_text(line.time), fmt::format("{}", line.step), printable_text(line.text)});
  return text + table.text();
}

namespace {

int report(const Context& context, const ReportOptions& options) {
  const RunHistory history = read_history(context.files(), options.directory, ThisMachine());
  if (context.json())
    context.print_json(as_json(history));
  else if (options.as_text)
    context.print(report_text(history));
  else
    context.print(report_page(history, context.clock().wall_time()));
  return kSuccess;
}

}  // namespace

void add_report(CommandLine& line) {
  const auto [command, options] = add_command(line, kReportHelp, report);
  command.add_option("directory", options.directory, "The run; by default the current directory")
      ->type_name("DIR");
  command.add_flag("--text", options.as_text, "Print what happened as text instead of a page");
}

}  // namespace crochet::tool
