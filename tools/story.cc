// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/story.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "crochet/io/file_system.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

using internal::JournalEntry;

// Lines that differ only in numbers are of one kind.
std::string without_numbers(std::string_view text) {
  std::string kind;
  for (const char c : text)
    if (std::isdigit(static_cast<unsigned char>(c)) == 0 && c != '.') kind += c;
  return kind;
}

// Lines of the log that crochet writes beside an event.
bool is_said_by_an_event(std::string_view text) {
  const auto has = [text](std::string_view part) { return text.find(part) != std::string::npos; };
  return text.starts_with("recovering from: ") || text.starts_with("the run ends") ||
         (text.starts_with("saving ") && has(" failed")) || has(" did not end by itself: its ") ||
         has(" was last heard of at ");
}

class Teller {
 public:
  explicit Teller(const RunHistory& history) : history_(history) {}

  std::vector<StoryLine> tell() {
    for (const JournalEntry& entry : history_.journal.entries) {
      if (life_ == nullptr || entry.stamp.life != life_->number) begin_life(entry);
      add(entry);
      last_ = &entry;
    }
    end_life();
    return std::move(lines_);
  }

 private:
  void begin_life(const JournalEntry& entry) {
    end_life();
    const auto found = std::ranges::find(history_.run.lives, entry.stamp.life, &Life::number);
    life_ = &*found;
    end_ = &history_.ends[static_cast<size_t>(found - history_.run.lives.begin())];
    has_said_end_ = knows_step_ = false;
    std::string text = fmt::format("life {} begins: process {} on {}", life_->number,
                                   life_->process.pid, life_->process.host);
    if (last_ != nullptr)
      text += fmt::format(", {} after the last that was heard of life {}",
                          duration_text(entry.stamp.time - last_->stamp.time), last_->stamp.life);
    say(entry, Tone::kPlain, std::move(text));
  }

  // How it ended, unless it could write that down.
  void end_life() {
    if (life_ == nullptr) return;
    flush();
    if (has_said_end_ || end_->kind == EndKind::kRunning) return;
    std::string text = fmt::format("{}, at step {} or after it: {}", end_kind_name(end_->kind),
                                   life_->last_step, end_->why);
    if (life_->saving) text += fmt::format("; it was saving step {}", *life_->saving);
    say(*last_, Tone::kBad, std::move(text));
  }

  void add(const JournalEntry& entry) {
    const std::string& event = entry.event;
    if (event == "restore") {
      restored(entry);
    } else if (event == "recovery") {
      say(entry, Tone::kBad,
          fmt::format("recovery after step {}: {}", entry.stamp.step, entry.text("error")));
    } else if (event == "save_failed") {
      repeat(entry, Tone::kBad,
             fmt::format("the save of step {} failed: {}", entry.stamp.step, entry.text("error")));
      has_failed_save_ = true;
    } else if (event == "saved") {
      saved(entry);
    } else if (event == "save_skipped") {
      repeat(entry, Tone::kWarning,
             fmt::format("the save of step {} was skipped, as another one was being written",
                         entry.stamp.step));
    } else if (event == "mirror_failed") {
      repeat(entry, Tone::kWarning,
             fmt::format("{} was not copied to the store: {}", entry.text("checkpoint"),
                         entry.text("error")));
    } else if (event == "brought_back") {
      say(entry, Tone::kPlain,
          fmt::format("{} was brought back, as the directory had no checkpoint",
                      entry.text("checkpoint")));
    } else if (event == "warning" || event == "error") {
      message(entry);
    } else if (event == "control") {
      if (entry.text("request") != "status")
        say(entry, Tone::kPlain,
            fmt::format("crochet {}: {}", entry.text("request"), entry.text("answer")));
    } else if (event == "stop") {
      say(entry, Tone::kPlain,
          fmt::format("{} asks for the end: {}", entry.text("who"), entry.text("reason")));
    } else if (event == "hung") {
      say(entry, Tone::kBad, entry.text("message"));
    } else if (event == "lost") {
      say(entry, Tone::kWarning,
          fmt::format("{:.0f} events of the journal are lost, as they could not be written",
                      entry.number("events").value_or(0)));
    } else if (event == "end") {
      ended(entry);
    }
  }

  void restored(const JournalEntry& entry) {
    std::string text =
        fmt::format("it continues from step {} ({}), restored in {:.2g} s", entry.stamp.step,
                    base_name(entry.text("checkpoint")), entry.number("seconds").value_or(0));
    const int64_t again = furthest_ - entry.stamp.step;
    if (again > 0) text += fmt::format("; at least {} steps are made again", again);
    const std::string refused = entry.text("refused");
    if (!refused.empty()) text += "; damaged, and not used: " + refused;
    say(entry, refused.empty() ? Tone::kPlain : Tone::kBad, std::move(text));
  }

  void saved(const JournalEntry& entry) {
    if (std::exchange(has_failed_save_, false))
      say(entry, Tone::kGood, fmt::format("step {} is saved", entry.stamp.step));
    const double attempts = entry.number("attempts").value_or(1);
    if (attempts > 1)
      repeat(entry, Tone::kWarning,
             fmt::format("the save of step {} needed {:.0f} attempts", entry.stamp.step, attempts));
  }

  void message(const JournalEntry& entry) {
    const std::string text = entry.text("message");
    if (is_said_by_an_event(text)) return;
    repeat(entry, entry.event == "error" ? Tone::kBad : Tone::kWarning, text);
  }

  void ended(const JournalEntry& entry) {
    has_said_end_ = true;
    if (!life_->error.empty())
      return say(
          entry, Tone::kBad,
          fmt::format("it ended after step {} with an error: {}", entry.stamp.step, life_->error));
    std::string text = fmt::format("it ended at step {}", entry.stamp.step);
    if (life_->exit_code) text += fmt::format(", exit code {}", *life_->exit_code);
    say(entry, life_->exit_code.value_or(0) == 0 ? Tone::kGood : Tone::kWarning, std::move(text));
  }

  // Before its restore, a life knows no step: it is that from which it continues.
  int64_t step_of(const JournalEntry& entry) {
    knows_step_ = knows_step_ || entry.stamp.step > 0 || entry.event == "restore";
    return knows_step_ ? entry.stamp.step : life_->first_step;
  }

  void say(const JournalEntry& entry, Tone tone, std::string text) {
    flush();
    furthest_ = std::max(furthest_, entry.stamp.step);
    lines_.push_back({entry.stamp.time, entry.stamp.life, step_of(entry), tone, std::move(text)});
  }

  // A line that may come again and again: the last of its kind in a row is said, with the number.
  void repeat(const JournalEntry& entry, Tone tone, std::string text) {
    furthest_ = std::max(furthest_, entry.stamp.step);
    std::string kind = without_numbers(text);
    if (num_repeated_ == 0 || kind != repeated_kind_) {
      flush();
      repeated_ = {entry.stamp.time, entry.stamp.life, step_of(entry), tone, std::move(text)};
      repeated_kind_ = std::move(kind);
    }
    ++num_repeated_;
    repeated_until_ = entry.stamp.time;
  }
  void flush() {
    if (num_repeated_ == 0) return;
    if (num_repeated_ > 1)
      repeated_.text += fmt::format(" ({} times within {})", num_repeated_,
                                    duration_text(repeated_until_ - repeated_.time));
    lines_.push_back(std::move(repeated_));
    num_repeated_ = 0;
  }

  const RunHistory& history_;
  std::vector<StoryLine> lines_;
  const Life* life_ = nullptr;
  const RunEnd* end_ = nullptr;  // Of life_.
  const JournalEntry* last_ = nullptr;
  bool has_said_end_ = false;
  bool knows_step_ = false;  // An event of the life has said one.
  bool has_failed_save_ = false;
  int64_t furthest_ = 0;
  StoryLine repeated_;
  std::string repeated_kind_;
  int num_repeated_ = 0;
  double repeated_until_ = 0;
};

}  // namespace

std::vector<StoryLine> story_of(const RunHistory& history) { return Teller(history).tell(); }

}  // namespace crochet::tool
