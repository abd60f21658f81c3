// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs the commands on a page of documentation and compares their output with that on the
// page:
//
//   check_commands docs/command.md <directory to run them in> <directory of the program>
//
// Commands are in blocks of `console`: lines that begin with "$ " are run by bash, one after
// another in the same directory; the lines after each are its output, including errors. "..." in a
// line stands for any text, alone on a line for any number of lines.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

using Lines = std::vector<std::string>;

struct Command {
  int line;
  std::string text;
  Lines output = {};
};

std::vector<Command> read_commands(const std::string& page) {
  std::ifstream file(page);
  if (!file) throw std::runtime_error(page + ": cannot be read");
  std::vector<Command> commands;
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.starts_with("```"))
      inside = line == "```console";
    else if (inside && line.starts_with("$ "))
      commands.push_back({number, line.substr(2)});
    else if (inside && commands.empty())
      throw std::runtime_error(fmt::format("{}:{}: output without a command", page, number));
    else if (inside)
      commands.back().output.push_back(line);
  }
  return commands;
}

Lines run(const std::string& command) {
  FILE* const pipe = ::popen(fmt::format("exec 2>&1; {}", command).c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start a shell");
  std::string output;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output += static_cast<char>(c);
  ::pclose(pipe);
  Lines lines;
  for (size_t start = 0; start < output.size();) {
    const size_t end = std::min(output.find('\n', start), output.size());
    lines.push_back(output.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

bool matches(std::string_view pattern, std::string_view line) {
  const size_t dots = pattern.find("...");
  if (dots == std::string_view::npos) return pattern == line;
  if (!line.starts_with(pattern.substr(0, dots))) return false;
  pattern.remove_prefix(dots + 3);
  line.remove_prefix(dots);
  for (size_t i = 0; i <= line.size(); ++i)
    if (matches(pattern, line.substr(i))) return true;
  return false;
}

bool matches(const std::string* pattern, const std::string* patterns_end, const std::string* line,
             const std::string* lines_end) {
  if (pattern == patterns_end) return line == lines_end;
  if (*pattern == "...") {
    for (const std::string* from = line; from <= lines_end; ++from)
      if (matches(pattern + 1, patterns_end, from, lines_end)) return true;
    return false;
  }
  return line != lines_end && matches(*pattern, *line) &&
         matches(pattern + 1, patterns_end, line + 1, lines_end);
}

bool check(const Command& command, const std::string& page, const std::string& directory,
           const std::string& programs) {
  const Lines found = run(fmt::format("export PATH='{}':\"$PATH\"; cd '{}' || exit; {}", programs,
                                      directory, command.text));
  const Lines& expected = command.output;
  if (matches(expected.data(), expected.data() + expected.size(), found.data(),
              found.data() + found.size()))
    return true;
  std::cerr << fmt::format("{}:{}: {}\nprints\n{}\n\nnot\n{}\n", page, command.line, command.text,
                           fmt::join(found, "\n"), fmt::join(expected, "\n"));
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 4)
      throw std::runtime_error("usage: check_commands PAGE.md DIRECTORY DIRECTORY_OF_PROGRAM");
    int num_wrong = 0;
    const std::vector<Command> commands = read_commands(argv[1]);
    for (const Command& command : commands)
      num_wrong += check(command, argv[1], argv[2], argv[3]) ? 0 : 1;
    std::cerr << fmt::format("{} of {} commands are wrong\n", num_wrong, commands.size());
    return num_wrong == 0 && !commands.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
