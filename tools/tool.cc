// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/tool.h"

#include <algorithm>
#include <new>
#include <optional>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/dynamic_type.h"
#include "crochet/base/internal/edit_distance.h"
#include "crochet/base/internal/escape.h"
#include "crochet/base/log.h"
#include "crochet/version.h"
#include "tools/command.h"
#include "tools/output.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

constexpr size_t kHelpColumn = 30;

// Sends the library's log to a stream until it is destroyed.
class LogToStream {
 public:
  explicit LogToStream(std::ostream& err)
      : previous_(set_log_callback([&err](Severity severity, std::string_view message) {
          if (severity >= Severity::kWarning)
            err << "crochet: " << printable_text(message) << std::endl;
        })) {}
  ~LogToStream() {
    set_log_callback(previous_);
    flush_log();  // A call in another thread may be using the stream.
  }
  LogToStream(const LogToStream&) = delete;
  LogToStream& operator=(const LogToStream&) = delete;

 private:
  LogCallback previous_;
};

void describe_program(CommandLine& line) {
  line.app.name("crochet");
  line.app.description(
      "Inspects, converts and repairs checkpoints: TensorFlow's tensor bundles and safetensors\n"
      "files, from any program.");
  line.app.set_version_flag("--version", "crochet " CROCHET_VERSION, "Print the version and exit");
  line.app.require_subcommand(1);
  line.app.get_formatter()->column_width(kHelpColumn);
  line.app.footer(
      "Exit codes: 0 yes, done; 1 no: damage, a difference, nothing found; 2 trouble.\n"
      "Run `crochet COMMAND --help` for the options of a command.");
  add_list(line);
  add_show(line);
  add_verify(line);
  add_diff(line);
  add_convert(line);
  add_repair(line);
  add_pin(line);
  add_rehearse(line);
  add_control(line);
  add_why(line);
  add_runs(line);
  add_metrics(line);
  add_report(line);
  add_compare(line);
  add_prune(line);
  add_du(line);
#ifdef CROCHET_TOOL_SERVES
  add_serve(line);
#endif
#ifdef CROCHET_TOOL_WATCHES
  add_watchdog(line);
#endif
  add_tail(line);
  add_watch(line);
}

// The known word that was probably meant; "" if none is close.
std::string closest(std::string_view wrong, const std::vector<std::string>& known) {
  constexpr size_t kMaxDistance = 2;
  std::string best;
  size_t least = std::min(kMaxDistance + 1, wrong.size());
  for (const std::string& word : known)
    if (const size_t distance = internal::edit_distance(wrong, word); distance < least) {
      least = distance;
      best = word;
    }
  return best;
}

// `"shwo" is not a command; did you mean "show"?`
std::string not_a(const char* what, std::string_view wrong, const std::vector<std::string>& known) {
  const std::string meant = closest(wrong, known);
  return fmt::format("\"{}\" is not {}{}", wrong, what,
                     meant.empty() ? "" : fmt::format("; did you mean \"{}\"?", meant));
}

// Why the arguments cannot be parsed: the command or option that is unknown, or CLI11's reason.
std::string complaint(const CommandLine& line, const std::vector<std::string>& arguments,
                      const CLI::ParseError& error) {
  const auto is_option = [](const std::string& argument) { return argument.starts_with('-'); };
  const auto chosen = line.app.get_subcommands();
  if (chosen.empty()) {
    std::vector<std::string> commands;
    for (const CLI::App* const each : line.app.get_subcommands({}))
      commands.push_back(each->get_name());
    const auto word = std::ranges::find_if_not(arguments, is_option);
    return word == arguments.end() ? error.what() : not_a("a command", *word, commands);
  }
  std::vector<std::string> options;
  for (const CLI::Option* const option : chosen.front()->get_options()) {
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
    for (const std::string& name : option->get_snames()) options.push_back("-" + name);
  }
  if (internal::dynamic_as<const CLI::ExtrasError>(&error) != nullptr)
    for (const std::string& argument : arguments)
      if (const std::string name = argument.substr(0, argument.find('='));
          is_option(name) && std::ranges::count(options, name) == 0)
        return not_a("an option", name, options);
  return error.what();
}

// Returns nothing if there is a command to run, otherwise the exit code.
std::optional<int> parse(CommandLine& line, const std::vector<std::string>& arguments,
                         const Context& context) {
  try {  // CLI11 expects them in reverse order.
    line.app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    context.print(line.app.help());
  } catch (const CLI::CallForVersion& version) {
    context.print(std::string(version.what()) + "\n");
  } catch (const CLI::ParseError& error) {
    const auto chosen = line.app.get_subcommands();
    context.complain(fmt::format("{} (see crochet {}--help)", complaint(line, arguments, error),
                                 chosen.empty() ? "" : chosen.front()->get_name() + " "));
    return kTrouble;
  }
  return kSuccess;
}

int run_command(const std::vector<std::string>& arguments, const Streams& streams,
                FileSystem& files, Clock& clock) {
  CommandLine line;
  describe_program(line);
  if (const auto code = parse(line, arguments, Context(files, clock, streams, false))) return *code;
  return line.command(Context(files, clock, streams, line.json));
}

}  // namespace

void Context::print(std::string_view text) const {
  streams_.out << text;
  if (!streams_.out) throw UnknownError("standard output: cannot be written");
}

void Context::flush() const {
  streams_.out.flush();
  if (!streams_.out) throw UnknownError("standard output: cannot be written");
}

void Context::print_json(const Json& document) const {
  print(internal::escape_json(document.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n");
}

void Context::complain(std::string_view message) const {
  streams_.err << "crochet: " << printable_text(message) << std::endl;
}

CLI::App& add_command(CommandLine& line, const CommandHelp& help, Command command) {
  CLI::App& added = *line.app.add_subcommand(help.name, help.description);
  added.add_flag("--json", line.json, "Print one JSON document");
  added.footer("Examples:\n" + help.examples);
  added.get_formatter()->column_width(kHelpColumn);
  added.callback([&line, command] { line.command = command; });
  return added;
}

int run_tool(const std::vector<std::string>& arguments, const Streams& streams, FileSystem& files,
             Clock& clock) {
  const LogToStream log(streams.err);
  const auto fail = [&](std::string_view why) {
    streams.err << "crochet: " << printable_text(why) << std::endl;
    return kTrouble;
  };
  try {
    const int code = run_command(arguments, streams, files, clock);
    streams.out.flush();
    return streams.out ? code : fail("standard output: cannot be written");
  } catch (const OutputClosed&) {
    throw;
  } catch (const std::bad_alloc&) {
    return fail("not enough memory");
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}

}  // namespace crochet::tool
