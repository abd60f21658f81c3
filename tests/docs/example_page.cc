// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "example_page.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/testing/temp_directory.h"

namespace docs {
namespace {

int num_failures = 0;

// Captures the output to stdout.
class OutputCapture {
 public:
  OutputCapture() : file_(std::tmpfile()), stdout_(::dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    ::dup2(::fileno(file_), STDOUT_FILENO);
  }
  ~OutputCapture() {
    restore();
    std::fclose(file_);
  }
  OutputCapture(const OutputCapture&) = delete;
  OutputCapture& operator=(const OutputCapture&) = delete;

  // Ends the capture.
  std::string take() {
    restore();
    std::string text;
    std::rewind(file_);
    for (int c = 0; (c = std::fgetc(file_)) != EOF;) text += static_cast<char>(c);
    return text;
  }

 private:
  void restore() {
    if (stdout_ < 0) return;
    std::fflush(stdout);
    ::dup2(stdout_, STDOUT_FILENO);
    ::close(stdout_);
    stdout_ = -1;
  }

  std::FILE* file_;
  int stdout_;
};

// True if `line` matches `pattern`, in which "..." stands for any text.
bool matches(std::string_view line, std::string_view pattern) {
  const size_t dots = pattern.find("...");
  if (dots == std::string_view::npos) return line == pattern;
  if (!line.starts_with(pattern.substr(0, dots))) return false;
  const std::string_view rest = pattern.substr(dots + 3);
  for (size_t begin = dots; begin <= line.size(); ++begin)
    if (matches(line.substr(begin), rest)) return true;
  return false;
}

void compare(const Example& example, const std::string& printed) {
  std::istringstream patterns{std::string(example.output)};
  std::istringstream lines(printed);
  int line_number = example.output_line;
  for (std::string pattern, line; std::getline(patterns, pattern); ++line_number) {
    bool found = false;
    while (!found && std::getline(lines, line)) found = matches(line, pattern);
    if (found) continue;
    fail(example.page, line_number, fmt::format("\"{}\" is not printed", pattern).c_str());
    fmt::print("the output is:\n{}", printed);
    return;
  }
}

void run(const Example& example) {
  // If an example hangs, the last line names it.
  fmt::print(stderr, "{}:{}\n", example.page, example.line);
  const crochet::TempDirectory directory;
  std::filesystem::current_path(directory.path());
  OutputCapture capture;
  std::string problem;
  try {
    if (const int result = example.run(); result != 0)
      problem = fmt::format("it returns {}", result);
  } catch (...) {
    problem = "it throws: " + crochet::describe(std::current_exception());
  }
  const std::string printed = capture.take();
  if (!problem.empty()) fail(example.page, example.line, problem.c_str());
  compare(example, printed);
  crochet::set_pending_signal(0);
  std::filesystem::current_path("/");
}

}  // namespace

void fail(const char* file, int line, const char* what) {
  ++num_failures;
  fmt::print(stderr, "{}:{}: {}\n", file, line, what);
}

}  // namespace docs

int main() {
  crochet::set_log_callback([](crochet::Severity severity, std::string_view message) {
    if (severity != crochet::Severity::kDebug) fmt::print("{}\n", message);
  });
  for (const docs::Example& example : docs::kExamples) docs::run(example);
  fmt::print("{} failures in {} examples\n", docs::num_failures, docs::kExamples.size());
  return docs::num_failures == 0 ? 0 : 1;
}
