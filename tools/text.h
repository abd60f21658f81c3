// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crochet::tool {

// The format of names, sizes, times and tables. Text from a file never reaches a terminal as
// control characters.

// A name on one line: control characters and bytes that are not UTF-8 are written as "\n", "\t",
// "\r" or "\x1b", a backslash as two.
std::string printable(std::string_view name);
// The same for messages, which may contain escapes already: backslashes and spaces are unchanged.
std::string printable_text(std::string_view message);
// A string for JSON: the name itself if it is UTF-8, otherwise printable(name).
std::string json_text(std::string_view name);

// "0", "999", "1.2k", "34M", "1.5G".
std::string size_text(uint64_t bytes);
// "2026-11-21T14:34:30Z"; "-" for a time out of range.
std::string time_text(double unix_time);
// "12 s", "30 min", "2.5 h", "3.0 d".
std::string duration_text(double secs);
// "1 tensor", "2 tensors".
std::string count_text(uint64_t count, std::string_view noun);

// A table with aligned columns. The last column is not padded.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Requires: a cell for each column, printable.
  void add(std::vector<std::string> cells) { rows_.push_back({std::move(cells), ""}); }
  // A line of text below the last row.
  void add_note(const std::string& line) { rows_.back().note += "  " + line + "\n"; }
  // Titles and rows, a line each.
  std::string text() const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::string note;
  };

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace crochet::tool
