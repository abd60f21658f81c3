// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Turns pages of documentation into one program that runs their examples (example_page.h):
//
//   extract_examples docs/hooks.md docs/hooks/signal_hook.md docs_hooks.cc
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

constexpr const char* kMain = "int main() {";

// A guarded block: its page, the text after its opening barrier, the number of its first line, and
// its lines.
struct Block {
  std::string page;
  std::string language;
  int line;
  std::vector<std::string> lines;

  bool has_line_with(std::string_view text) const {
    for (const std::string& each : lines)
      if (each.find(text) != std::string::npos) return true;
    return false;
  }
  bool is_program() const { return has_line_with(kMain); }
};

std::vector<Block> read_blocks(const std::string& page) {
  std::ifstream file(page);
  if (!file) throw std::runtime_error(page + ": cannot be read");
  std::vector<Block> blocks;
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.push_back({page, line.substr(3), number + 1, {}});
    } else if (inside) {
      blocks.back().lines.push_back(line);
    }
  }
  if (inside)
    throw std::runtime_error(fmt::format("{}:{}: a block has no end", page, blocks.back().line));
  return blocks;
}

// An example, and its output if the page shows it.
struct Example {
  Block code;
  Block output = {"", "text", 0, {}};
};

[[noreturn]] void fail(const Block& block, const char* what) {
  throw std::runtime_error(fmt::format("{}:{}: {}", block.page, block.line, what));
}

class Program {
 public:
  explicit Program(std::span<const std::string> pages) {
    for (const std::string& page : pages)
      for (Block& block : read_blocks(page)) add(std::move(block));
    for (const Example& example : examples_)
      if (example.output.line == 0 && !example.code.has_line_with("assert("))
        fail(example.code, "the example checks nothing: add an assertion or its output");
    check_includes();
  }

  void write(std::ostream& out) const {
    write_includes(out, prelude_);
    for (const Example& example : examples_) write_includes(out, example.code);
    out << "\n#include \"example_page.h\"  // Last: its assert() replaces that of <cassert>.\n\n";
    write_code(out, prelude_);
    for (size_t i = 0; i < examples_.size(); ++i) write_function(out, i);
    out << "namespace {\nconst docs::Example kAll[] = {\n";
    for (size_t i = 0; i < examples_.size(); ++i) write_entry(out, i);
    out << "};\n}  // namespace\n\nconst std::span<const docs::Example> docs::kExamples(kAll);\n";
  }

 private:
  // A reader compiles the first block and an example as they are on the page.
  void check_includes() const {
    for (const Example& example : examples_)
      if (example.code.has_line_with("assert(") && !prelude_.has_line_with("#include <cassert>") &&
          !example.code.has_line_with("#include <cassert>"))
        fail(example.code, "assert() without #include <cassert> in the first block");
  }

  void add(Block block) {
    if (block.language == "cpp" && prelude_.lines.empty()) {
      prelude_ = std::move(block);
    } else if (block.language == "cpp") {
      examples_.push_back({std::move(block)});
    } else if (block.language == "text") {
      if (examples_.empty() || examples_.back().output.line != 0 ||
          examples_.back().code.page != block.page)
        fail(block, "output without an example");
      examples_.back().output = std::move(block);
    }
  }

  static bool is_include(const std::string& line) { return line.starts_with("#include"); }

  static void write_includes(std::ostream& out, const Block& block) {
    for (const std::string& line : block.lines)
      if (is_include(line)) out << line << '\n';
  }
  // With #line, so that compilers and debuggers refer to the page.
  static void write_code(std::ostream& out, const Block& block) {
    out << fmt::format("#line {} \"{}\"\n", block.line, block.page);
    bool in_main = false;
    for (const std::string& line : block.lines) {
      in_main = in_main || line == kMain;
      // Only the real main may omit the return.
      out << (is_include(line) ? "" : in_main && line == "}" ? "return 0; }" : line) << '\n';
    }
  }
  // Each example has a namespace of its own: example_0, example_1 and so on, over all pages.
  void write_function(std::ostream& out, size_t i) const {
    const Block& code = examples_[i].code;
    out << fmt::format("namespace example_{} {{\n", i);
    if (!code.is_program()) out << kMain << '\n';
    write_code(out, code);
    if (!code.is_program()) out << "return 0;\n}\n";
    out << "}\n";
  }
  void write_entry(std::ostream& out, size_t i) const {
    const Example& example = examples_[i];
    out << fmt::format("{{\"{}\", {}, &example_{}::main, {}, R\"output(", example.code.page,
                       example.code.line, i, example.output.line);
    for (const std::string& line : example.output.lines) out << line << '\n';
    out << ")output\"},\n";
  }

  Block prelude_;  // The first block of the first page.
  std::vector<Example> examples_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3) throw std::runtime_error("usage: extract_examples PAGE.md... PROGRAM.cc");
    const std::vector<std::string> pages(argv + 1, argv + argc - 1);
    const Program program(pages);
    std::ofstream out(argv[argc - 1]);
    program.write(out);
    if (!out.flush()) throw std::runtime_error(std::string(argv[argc - 1]) + ": cannot be written");
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
