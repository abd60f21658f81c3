// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet stop, save, limit and status: ask a run, through files in its directory.
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "crochet/base/internal/random.h"
#include "crochet/control/internal/control_files.h"
#include "tools/command.h"
#include "tools/run_lock.h"
#include "tools/text.h"
#include "tools/time_argument.h"

namespace crochet::tool {
namespace {

using internal::ControlFiles;
using internal::ControlRequest;
using internal::ControlVerb;

const CommandHelp kStopHelp = {
    .name = "stop",
    .description = "End the run in a directory after its present step, with a checkpoint",
    .examples =
        "  crochet stop runs/digits\n"
        "  crochet stop --when-saved runs/digits        # with its next checkpoint",
};
const CommandHelp kSaveHelp = {
    .name = "save",
    .description = "Have the run in a directory write a checkpoint now",
    .examples = "  crochet save runs/digits",
};
const CommandHelp kLimitHelp = {
    .name = "limit",
    .description = "Set when the run in a directory ends, also one that starts later",
    .examples =
        "  crochet limit runs/digits --at-step 5000\n"
        "  crochet limit runs/digits --for 2h --when-saved\n"
        "  crochet limit runs/digits --until '2026-12-01 08:00'\n"
        "  crochet limit runs/digits --none",
};
const CommandHelp kStatusHelp = {
    .name = "status",
    .description = "Ask the run in a directory for its step, speed and limit",
    .examples = "  crochet status runs/digits",
};

struct ControlOptions {
  std::string directory = {};
  double timeout_secs = 10;
  bool when_saved = false;
  std::optional<int64_t> at_step = {};
  std::string for_text = {};
  std::string until_text = {};
  bool none = false;
};

ControlRequest request_of(const Context& context, ControlVerb verb, const ControlOptions& options) {
  ControlRequest request{.id = fmt::format("{:016x}", internal::random_number()), .verb = verb};
  request.limit.when_saved = options.when_saved;
  if (verb != ControlVerb::kLimit) return request;
  const int num_given = options.at_step.has_value() + !options.for_text.empty() +
                        !options.until_text.empty() + options.none;
  if (num_given != 1)
    throw InvalidArgumentError(
        "limit: exactly one of --at-step, --for, --until and --none must be given");
  request.limit.at_step = options.at_step;
  if (!options.for_text.empty()) request.for_secs = parse_duration(options.for_text);
  if (!options.until_text.empty())
    request.limit.until = parse_time(options.until_text, context.clock().wall_time());
  return request;
}

int print_answer(const Context& context, const std::string& answer) {
  if (context.json())
    context.print_json(Json{{"answer", json_text(answer)}});
  else
    context.print(printable_text(answer) + "\n");
  return kSuccess;
}

int no_answer(const Context& context, ControlFiles& control, const ControlRequest& request,
              const ControlOptions& options, std::string_view why) {
  if (request.verb == ControlVerb::kLimit) {
    return print_answer(context, fmt::format("{}: {}; it holds for the next start of the run",
                                             options.directory, why));
  }
  control.take_back(request);
  context.complain(fmt::format("{}: {}", options.directory, why));
  return kNegative;
}

int ask(const Context& context, ControlVerb verb, const ControlOptions& options) {
  FileSystem& files = context.files();
  if (!is_directory(files, options.directory))
    throw NotFoundError(fmt::format("{}: no such directory", options.directory));
  const ControlRequest request = request_of(context, verb, options);
  ControlFiles control(files, options.directory);
  control.ask(request);
  const auto end = context.clock().now() + from_seconds(options.timeout_secs);
  for (;;) {
    if (const auto answer = control.answer_to(request)) return print_answer(context, answer->text);
    if (has_run(files, options.directory) == false)
      return no_answer(context, control, request, options, "no run is there");
    if (context.clock().now() >= end)
      return no_answer(context, control, request, options,
                       fmt::format("no answer within {} s, as when no run is there, or in a step "
                                   "that takes longer (see --timeout)",
                                   options.timeout_secs));
    context.clock().sleep_for(std::chrono::milliseconds(50));
  }
}

std::pair<CLI::App&, ControlOptions&> add(CommandLine& line, const CommandHelp& help,
                                          ControlVerb verb) {
  const auto options = std::make_shared<ControlOptions>();
  CLI::App& command = add_command(
      line, help, [options, verb](const Context& context) { return ask(context, verb, *options); });
  command.add_option("directory", options->directory, "The directory of the run's checkpoints")
      ->type_name("DIR")
      ->required();
  command.add_option("--timeout", options->timeout_secs, "How long to wait for the run's answer")
      ->type_name("SECONDS")
      ->check(CLI::NonNegativeNumber);
  return {command, *options};
}

void add_when_saved(CLI::App& command, ControlOptions& options, const char* help) {
  command.add_flag("--when-saved", options.when_saved, help);
}

}  // namespace

void add_control(CommandLine& line) {
  {
    const auto [command, options] = add(line, kStopHelp, ControlVerb::kStop);
    add_when_saved(command, options, "End with the next checkpoint that is due");
  }
  add(line, kSaveHelp, ControlVerb::kSave);
  {
    const auto [command, options] = add(line, kLimitHelp, ControlVerb::kLimit);
    command.add_option("--at-step", options.at_step, "End once this step is complete")
        ->type_name("STEP")
        ->check(CLI::NonNegativeNumber);
    command.add_option("--for", options.for_text, "End after this time: 90s, 30m, 2h, 1d")
        ->type_name("TIME");
    command
        .add_option("--until", options.until_text,
                    "End at this local time: '2026-12-01 08:00', or 08:00 for the next one")
        ->type_name("TIME");
    command.add_flag("--none", options.none, "Remove the limit");
    add_when_saved(command, options, "End with the first checkpoint after that");
  }
  add(line, kStatusHelp, ControlVerb::kStatus);
}

}  // namespace crochet::tool
