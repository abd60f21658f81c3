// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/tail.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/pending_signal.h"
#include "crochet/journal/internal/read_journal.h"
#include "tools/number.h"
#include "tools/signal_guard.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

using internal::JournalEntry;

constexpr std::chrono::seconds kInterval(1);

const CommandHelp kTailHelp = {
    .name = "tail",
    .description = "Print the last events of a run: starts, saves, warnings, requests, its end",
    .examples =
        "  crochet tail runs/digits\n"
        "  crochet tail -n 100 runs/digits\n"
        "  crochet tail --follow runs/digits             # until Ctrl-C",
};

// "2026-11-29T02:14:07Z  life 2  step 81200  saved  bytes=165 checkpoint=run/model.ckpt-81200"
std::string line_of(const JournalEntry& entry) {
  std::string text = fmt::format("{}  life {}  step {}  {}", time_text(entry.stamp.time),
                                 entry.stamp.life, entry.stamp.step, printable(entry.event));
  std::string fields;
  for (const auto& [key, value] : entry.texts)
    fields += fmt::format(" {}={}", printable(key), printable(value));
  for (const auto& [key, value] : entry.numbers)
    fields += fmt::format(" {}={}", printable(key), short_text(value));
  if (!fields.empty()) text += " " + fields;
  return text + "\n";
}

Json as_json(const JournalEntry& entry) {
  Json json{{"event", json_text(entry.event)},
            {"life", entry.stamp.life},
            {"step", entry.stamp.step},
            {"time", to_json(entry.stamp.time)}};
  for (const auto& [key, value] : entry.texts) json[json_text(key)] = json_text(value);
  for (const auto& [key, value] : entry.numbers) json[json_text(key)] = to_json(value);
  return json;
}

bool is_same(const JournalEntry& a, const JournalEntry& b) {
  return a.event == b.event && a.stamp.life == b.stamp.life && a.stamp.step == b.stamp.step &&
         a.stamp.steady == b.stamp.steady;
}

// The entries after this one; all if it is not there any more.
std::span<const JournalEntry> after(const std::vector<JournalEntry>& entries,
                                    const JournalEntry& last) {
  const auto found = std::find_if(entries.rbegin(), entries.rend(),
                                  [&](const JournalEntry& entry) { return is_same(entry, last); });
  return {found.base(), entries.end()};
}

void follow(const Context& context, const std::string& directory, JournalEntry last) {
  const SignalGuard guard;
  context.flush();
  while (sleep_unless_signalled(context.clock(), kInterval)) {
    const auto found = internal::read_journal(context.files(), directory).entries;
    for (const JournalEntry& entry : after(found, last)) context.print(line_of(entry));
    context.flush();
    if (!found.empty()) last = found.back();
  }
}

int tail(const Context& context, const TailOptions& options) {
  return print_tail(context, options);
}

}  // namespace

int print_tail(const Context& context, const TailOptions& options) {
  const auto entries = internal::read_journal(context.files(), options.directory).entries;
  const auto count = std::min<uint64_t>(entries.size(), static_cast<uint64_t>(options.lines));
  const auto shown = std::span(entries).last(count);
  if (context.json()) {
    Json list = Json::array();
    for (const JournalEntry& entry : shown) list.push_back(as_json(entry));
    context.print_json(
        Json{{"directory", json_text(options.directory)}, {"events", std::move(list)}});
    return kSuccess;
  }
  for (const JournalEntry& entry : shown) context.print(line_of(entry));
  if (options.follow)
    follow(context, options.directory, entries.empty() ? JournalEntry() : entries.back());
  return kSuccess;
}

void add_tail(CommandLine& line) {
  const auto [command, options] = add_command(line, kTailHelp, tail);
  command.add_option("directory", options.directory, "The run; by default the current directory")
      ->type_name("DIR");
  command.add_option("--lines,-n", options.lines, "How many events; by default 10")
      ->type_name("N")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 53));
  command.add_flag("--follow,-f", options.follow, "Print further events as they come")
      ->excludes("--json");
}

}  // namespace crochet::tool
