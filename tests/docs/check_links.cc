// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Checks the links of Markdown pages into this repository, and fails for broken ones:
//
//   check_links README.md docs/hooks.md
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

namespace fs = std::filesystem;

// The lines of a page, with those of code blocks left empty.
std::vector<std::string> prose_of(const fs::path& page) {
  std::ifstream file(page);
  std::vector<std::string> lines;
  bool is_code = !file;
  for (std::string line; std::getline(file, line);) {
    const bool is_mark = line.starts_with("```");
    if (is_mark) is_code = !is_code;
    lines.push_back(is_code || is_mark ? "" : line);
  }
  return lines;
}

// The anchor of this heading, as GitHub generates it.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading.substr(heading.find_first_not_of("# "))) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_')
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (c == ' ') anchor += '-';
  }
  return anchor;
}

bool has_anchor(const fs::path& page, const std::string& anchor) {
  for (const std::string& line : prose_of(page))
    if (line.starts_with("#") && anchor_of(line) == anchor) return true;
  return false;
}

bool leads_somewhere(const fs::path& page, const std::string& link) {
  if (link.find("://") != std::string::npos) return true;
  const size_t hash = link.find('#');
  const fs::path target = hash == 0 ? page : page.parent_path() / link.substr(0, hash);
  return fs::exists(target) &&
         (hash == std::string::npos || has_anchor(target, link.substr(hash + 1)));
}

int count_broken_links(const fs::path& page) {
  static const std::regex kLink(R"(\]\(([^)]+)\))");
  static const std::regex kInlineCode("`[^`]*`");
  const std::vector<std::string> lines = prose_of(page);
  int num_broken = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string prose = std::regex_replace(lines[i], kInlineCode, "``");
    for (std::sregex_iterator match(prose.begin(), prose.end(), kLink), end; match != end;
         ++match) {
      if (leads_somewhere(page, (*match)[1])) continue;
      ++num_broken;
      std::cerr << fmt::format("{}:{}: the link to {} is broken\n", page.string(), i + 1,
                               (*match)[1].str());
    }
  }
  if (lines.empty()) std::cerr << page.string() << ": cannot be read, or is empty\n";
  return num_broken + (lines.empty() ? 1 : 0);
}

}  // namespace

int main(int argc, char** argv) {
  int num_broken = argc < 2 ? 1 : 0;
  for (int i = 1; i < argc; ++i) num_broken += count_broken_links(argv[i]);
  return num_broken == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
