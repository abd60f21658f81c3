// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet why: how the last life of a run ended, and what was lost.
#include "tools/why.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "crochet/checkpoint/directory/internal/fast_place.h"
#include "crochet/checkpoint/directory/internal/found_checkpoint.h"
#include "crochet/journal/internal/read_journal.h"
#include "tools/lives.h"
#include "tools/run_lock.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

const CommandHelp kWhyHelp = {
    .name = "why",
    .description =
        "Explain how the last life of a run ended: why, from which step the run continues,\n"
        "what was lost, and what to do",
    .examples =
        "  crochet why runs/digits\n"
        "  crochet why --json runs/digits | jq -r .why",
};

// From where the run continued, or will.
struct Continuation {
  std::optional<int64_t> next_life = {};
  int64_t step = 0;
  std::string checkpoint = {};           // Empty: from the beginning.
  std::optional<double> time = {};       // When that step was made.
  std::optional<double> down_secs = {};  // Until the next life.
};

struct Answer {
  Life life = {};
  RunEnd end = {};
  Continuation next = {};
  std::optional<Life> running = {};  // The one that runs now.
};

std::optional<double> time_of_step(const std::vector<Life>& lives, int64_t step) {
  for (auto life = lives.rbegin(); life != lives.rend(); ++life)
    if (const auto found = life->snapshots.find(step); found != life->snapshots.end())
      return found->second;
  return std::nullopt;
}

Continuation continuation(FileSystem& files, const std::string& directory,
                          const std::vector<Life>& lives, size_t index) {
  Continuation next;
  if (index + 1 < lives.size()) {
    const Life& life = lives[index + 1];
    next = {.next_life = life.number,
            .step = life.first_step,
            .checkpoint = life.restored_from,
            .down_secs = life.start - lives[index].last};
  } else {
    auto found =
        internal::of_one_run(files, directory, internal::find_checkpoints(files, directory));
    // Only a machine that still has it in memory sees it.
    const auto newest = found.empty() ? std::nullopt : found.back().step;
    if (auto in_memory = internal::newer_in_fast_place(files, directory, newest))
      found.push_back(*std::move(in_memory));
    if (found.empty()) return next;
    next = {.step = found.back().step.value_or(0),
            .checkpoint = found.back().prefix,
            .time = found.back().unix_time};
  }
  if (const auto time = time_of_step(lives, next.step)) next.time = time;
  return next;
}

Answer find_answer(const Context& context, const std::string& directory, const Machine& machine) {
  FileSystem& files = context.files();
  const std::vector<Life> lives = lives_of(internal::read_journal(files, directory));
  if (lives.empty()) throw DataLossError(fmt::format("{}: its journal has no event", directory));
  Answer answer;
  size_t index = lives.size() - 1;
  answer.end = end_of(lives[index], has_run(files, directory), machine);
  if (answer.end.kind == EndKind::kRunning && index > 0) {
    answer.running = lives[index--];
    answer.end = end_of(lives[index], false, machine);
  }
  answer.life = lives[index];
  if (answer.end.kind != EndKind::kRunning)
    answer.next = continuation(files, directory, lives, index);
  return answer;
}

// "4 s", "12 min", "3.5 h".
bool wrote_its_end(EndKind kind) {
  return kind == EndKind::kStopped || kind == EndKind::kSignalled || kind == EndKind::kFailed;
}

std::string life_text(const Life& life) {
  return fmt::format("life {}, process {} on {}", life.number, life.process.pid,
                     printable(life.process.host));
}

std::string ended_text(const Answer& answer) {
  const Life& life = answer.life;
  if (answer.end.kind == EndKind::kRunning)
    return fmt::format("not yet: {} is running, at step {} at {}", life_text(life), life.last_step,
                       time_text(life.last));
  std::string text =
      fmt::format("{}: at step {}{}, {}{}", life_text(life), life.last_step,
                  wrote_its_end(answer.end.kind) ? "" : " or after it",
                  wrote_its_end(answer.end.kind) ? "" : "last heard of ", time_text(life.last));
  if (life.exit_code) text += fmt::format(", exit code {}", *life.exit_code);
  if (life.saving) text += fmt::format("; it was saving step {}", *life.saving);
  return text;
}

std::string continues_text(const Answer& answer) {
  const Continuation& next = answer.next;
  if (answer.end.kind == EndKind::kRunning)
    return answer.life.restored_from.empty()
               ? "it started from the beginning"
               : fmt::format("it continued from step {} ({})", answer.life.first_step,
                             printable(answer.life.restored_from));
  const std::string from = next.checkpoint.empty() ? "from the beginning: there was no checkpoint"
                                                   : fmt::format("from step {} ({})", next.step,
                                                                 printable(next.checkpoint));
  if (!next.next_life) return "the next start continues " + from;
  const char* const state = answer.running ? ", which is running now" : "";
  return fmt::format("life {}{}, continued {}, {} later", *next.next_life, state, from,
                     duration_text(next.down_secs.value_or(0)));
}

int64_t lost_steps(const Answer& answer) {
  return std::max<int64_t>(answer.life.last_step - answer.next.step, 0);
}

double lost_secs(const Answer& answer) {
  if (lost_steps(answer) == 0) return 0;
  return std::max(answer.life.last - answer.next.time.value_or(answer.life.start), 0.0);
}

std::string lost_text(const Answer& answer) {
  if (answer.end.kind == EndKind::kRunning) return "nothing";
  const bool is_exact = wrote_its_end(answer.end.kind);
  const int64_t steps = lost_steps(answer);
  if (steps == 0)
    return is_exact ? "nothing"
                    : "at most the steps of the 30 s after the last event in the journal";
  return fmt::format("{}{} of training: {}", is_exact ? "" : "at least ",
                     duration_text(lost_secs(answer)),
                     count_text(static_cast<uint64_t>(steps), "step"));
}

void print_text(const Context& context, const Answer& answer) {
  context.print(fmt::format("ended:      {}\n", ended_text(answer)));
  context.print(fmt::format("why:        {}\n", printable_text(answer.end.why)));
  context.print(fmt::format("continues:  {}\n", continues_text(answer)));
  context.print(fmt::format("lost:       {}\n", lost_text(answer)));
  const bool is_over = !answer.next.next_life;
  context.print(fmt::format("to do:      {}\n", is_over ? answer.end.advice : "nothing: it runs"));
}

void print_json(const Context& context, const Answer& answer) {
  const Life& life = answer.life;
  Json document{{"life", life.number},
                {"pid", life.process.pid},
                {"host", json_text(life.process.host)},
                {"command", json_text(life.command)},
                {"end", end_kind_name(answer.end.kind)},
                {"why", json_text(answer.end.why)},
                {"step", life.last_step},
                {"time", life.last},
                {"advice", answer.end.advice}};
  if (life.exit_code) document["exit_code"] = *life.exit_code;
  if (answer.running) document["running_life"] = answer.running->number;
  if (answer.end.kind != EndKind::kRunning) {
    document["continues_from_step"] = answer.next.step;
    document["lost_steps"] = lost_steps(answer);
    document["lost_secs"] = lost_secs(answer);
    if (!answer.next.checkpoint.empty()) document["checkpoint"] = json_text(answer.next.checkpoint);
  }
  context.print_json(document);
}

struct WhyOptions {
  std::string directory = {};
};

int why(const Context& context, const WhyOptions& options) {
  return explain_end(context, options.directory, ThisMachine());
}

}  // namespace

int explain_end(const Context& context, const std::string& directory, const Machine& machine) {
  const Answer answer = find_answer(context, directory, machine);
  if (context.json())
    print_json(context, answer);
  else
    print_text(context, answer);
  return is_as_wanted(answer.end.kind) ? kSuccess : kNegative;
}

void add_why(CommandLine& line) {
  const auto [command, options] = add_command(line, kWhyHelp, why);
  command.add_option("directory", options.directory, "The directory of the run's checkpoints")
      ->type_name("DIR")
      ->required();
}

}  // namespace crochet::tool
