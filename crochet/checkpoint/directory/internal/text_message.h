// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace crochet::inline v0::internal {

// One `name: value` of a message in protobuf's text format.
struct TextField {
  std::string name = {};
  // True: `value` was quoted, and has no quotes and escapes. False: a number or a word, unchanged.
  bool quoted = false;
  std::string value = {};
  size_t line = 1;
};

// The fields of a message, in order. A list `[a, b]` gives a field for each of its
// values; a nested message `{...}` or `<...>` is skipped. Comments run from # to the
// end of the line.
// Throws: InvalidArgumentError with the line, what was found and what was expected.
std::vector<TextField> parse_text_message(std::string_view text);

// A string in the text format: in double quotes, with C escapes, bytes outside
// printable ASCII in octal.
std::string quote(std::string_view value);
// A double in the text format: the shortest form that reads back the same, never
// that of an integer.
std::string to_text(double value);

}  // namespace crochet::inline v0::internal
