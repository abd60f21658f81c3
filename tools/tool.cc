// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/tool.h"

#include <algorithm>
#include <new>
#include <optional>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/escape.h"
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
}

// Returns nothing if there is a command to run, otherwise the exit code.
std::optional<int> parse(CommandLine& line, std::vector<std::string> arguments,
                         const Context& context) {
  std::ranges::reverse(arguments);  // CLI11 expects them in this order.
  try {
    line.app.parse(arguments);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    context.print(line.app.help());
  } catch (const CLI::CallForVersion& version) {
    context.print(std::string(version.what()) + "\n");
  } catch (const CLI::ParseError& error) {
    const auto chosen = line.app.get_subcommands();
    context.complain(fmt::format("{} (see crochet {}--help)", error.what(),
                                 chosen.empty() ? "" : chosen.front()->get_name() + " "));
    return kTrouble;
  }
  return kSuccess;
}

int run_command(const std::vector<std::string>& arguments, const Streams& streams,
                FileSystem& files) {
  CommandLine line;
  describe_program(line);
  if (const auto code = parse(line, arguments, Context(files, streams, false))) return *code;
  return line.command(Context(files, streams, line.json));
}

}  // namespace

void Context::print(std::string_view text) const {
  streams_.out << text;
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

int run_tool(const std::vector<std::string>& arguments, const Streams& streams, FileSystem& files) {
  const LogToStream log(streams.err);
  const auto fail = [&](std::string_view why) {
    streams.err << "crochet: " << printable_text(why) << std::endl;
    return kTrouble;
  };
  try {
    const int code = run_command(arguments, streams, files);
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
