// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Turns a page of documentation into a program that runs its examples (example_page.h):
//
//   extract_examples docs/hooks.md docs_hooks.cc
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

constexpr const char* kMain = "int main() {";

// A fenced block: the text after its opening fence, the number of its first line,
// and its lines.
struct Block {
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
      if (inside) blocks.push_back({line.substr(3), number + 1, {}});
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
  Block output = {"text", 0, {}};
};

class Page {
 public:
  explicit Page(std::string path) : path_(std::move(path)) {
    for (Block& block : read_blocks(path_)) add(std::move(block));
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
    for (const Example& example : examples_) write_function(out, example.code);
    out << "namespace {\nconst docs::Example kAll[] = {\n";
    for (const Example& example : examples_) write_entry(out, example);
    out << "};\n}  // namespace\n\nconst std::span<const docs::Example> docs::kExamples(kAll);\n";
  }

 private:
  [[noreturn]] void fail(const Block& block, const char* what) const {
    throw std::runtime_error(fmt::format("{}:{}: {}", path_, block.line, what));
  }

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
      if (examples_.empty() || examples_.back().output.line != 0)
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
  void write_code(std::ostream& out, const Block& block) const {
    out << fmt::format("#line {} \"{}\"\n", block.line, path_);
    bool in_main = false;
    for (const std::string& line : block.lines) {
      in_main = in_main || line == kMain;
      // Only the real main may omit the return.
      out << (is_include(line) ? "" : in_main && line == "}" ? "return 0; }" : line) << '\n';
    }
  }
  void write_function(std::ostream& out, const Block& code) const {
    out << fmt::format("namespace example_{} {{\n", code.line);
    if (!code.is_program()) out << kMain << '\n';
    write_code(out, code);
    if (!code.is_program()) out << "return 0;\n}\n";
    out << "}\n";
  }
  void write_entry(std::ostream& out, const Example& example) const {
    out << fmt::format("{{\"{}\", {}, &example_{}::main, {}, R\"output(", path_, example.code.line,
                       example.code.line, example.output.line);
    for (const std::string& line : example.output.lines) out << line << '\n';
    out << ")output\"},\n";
  }

  const std::string path_;
  Block prelude_;
  std::vector<Example> examples_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw std::runtime_error("usage: extract_examples PAGE.md PROGRAM.cc");
    const Page page(argv[1]);
    std::ofstream out(argv[2]);
    page.write(out);
    if (!out.flush()) throw std::runtime_error(std::string(argv[2]) + ": cannot be written");
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
