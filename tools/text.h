// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crochet::tool {

// How names, sizes, times and tables look. Nothing that a file says reaches a terminal as a
// control character.

// A name in one line: control characters and bytes that are no UTF-8 as "\n", "\t", "\r" or "\x1b",
// a backslash as two.
std::string printable(std::string_view name);
// The same for messages, which may have escapes of their own: backslashes stay, and so do spaces.
std::string printable_text(std::string_view message);
// What JSON can hold: the name itself if it is UTF-8, else printable(name).
std::string json_text(std::string_view name);

// "0", "999", "1.2k", "34M", "1.5G": at most two digits behind the point are of no use to anyone.
std::string size_text(uint64_t bytes);
// "2026-11-21T14:34:30Z"; "-" for a time that no calendar has.
std::string time_text(double unix_time);
// "1 tensor", "2 tensors".
std::string count_text(uint64_t count, std::string_view noun);

// Columns that are aligned. The last one is as long as it likes.
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
