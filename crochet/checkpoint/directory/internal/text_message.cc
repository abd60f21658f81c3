// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/text_message.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {
namespace {

// The limit of protobuf.
constexpr int kMaxDepth = 100;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '+' || c == '-';
}

bool is_octal(char c) { return c >= '0' && c <= '7'; }

// The characters that have an escape of one letter, and those letters.
constexpr std::string_view kEscaped = "\n\r\t\"'\\\a\b\f\v?";
constexpr std::string_view kLetters = "nrt\"'\\abfv?";
// Those that are written by it: the first ones.
constexpr std::string_view kAlwaysEscaped = kEscaped.substr(0, 6);

class TextParser {
 public:
  explicit TextParser(std::string_view text) : rest_(text) {}

  std::vector<TextField> parse() {
    message('\0', 0);
    return std::move(fields_);
  }

 private:
  // The fields up to `end`, which is '\0' for the end of the text. Those of nested
  // messages (depth above 0) are dropped.
  void message(char end, int depth) {
    if (depth > kMaxDepth) fail("messages nested deeper than 100");
    while (true) {
      skip_blanks();
      if (end != '\0' && take(end)) return;
      if (rest_.empty()) {
        if (end != '\0') fail(fmt::format("the end, expected '{}'", end));
        return;
      }
      field(depth);
      skip_blanks();
      if (!take(',')) take(';');
    }
  }

  void field(int depth) {
    const std::string name = field_name();
    skip_blanks();
    const bool colon = take(':');
    skip_blanks();
    if (take('[')) {
      list(name, depth);
    } else if (!nested(depth)) {
      if (!colon) fail(fmt::format("{} after \"{}\", expected ':'", here(), name));
      scalar(name, depth);
    }
  }

  // A word, or the name of an extension in brackets.
  std::string field_name() {
    if (!take('[')) return word("the name of a field");
    const size_t end = rest_.find(']');
    if (end == std::string_view::npos) fail("'[' without ']'");
    std::string name(rest_.substr(0, end));
    skip(end + 1);
    return name;
  }

  void list(const std::string& name, int depth) {
    skip_blanks();
    if (take(']')) return;
    do {
      skip_blanks();
      if (!nested(depth)) scalar(name, depth);
      skip_blanks();
    } while (take(','));
    if (!take(']')) fail(fmt::format("{} in a list, expected ',' or ']'", here()));
  }

  bool nested(int depth) {
    if (take('{')) {
      message('}', depth + 1);
    } else if (take('<')) {
      message('>', depth + 1);
    } else {
      return false;
    }
    return true;
  }

  void scalar(const std::string& name, int depth) {
    TextField field{.name = name, .line = line_};
    field.quoted = !rest_.empty() && is_quote(rest_.front());
    field.value = field.quoted ? strings() : word("a value");
    if (depth == 0) fields_.push_back(std::move(field));
  }

  std::string word(std::string_view expected) {
    const auto size = static_cast<size_t>(std::ranges::find_if_not(rest_, is_word) - rest_.begin());
    if (size == 0) fail(fmt::format("{}, expected {}", here(), expected));
    std::string result(rest_.substr(0, size));
    skip(size);
    return result;
  }

  static bool is_quote(char c) { return c == '"' || c == '\''; }

  // Adjacent strings are concatenated.
  std::string strings() {
    std::string result;
    while (!rest_.empty() && is_quote(rest_.front())) {
      const char quote = next();
      while (!take(quote)) {
        const char c = next();
        if (c == '\n') fail("the end of the line within a string");
        result += c == '\\' ? escaped() : c;
      }
      skip_blanks();
    }
    return result;
  }

  char escaped() {
    if (!rest_.empty() && is_octal(rest_.front())) return number(8, 3);
    const char c = next();
    if (const size_t index = kLetters.find(c); index != kLetters.npos) return kEscaped[index];
    if (c != 'x' && c != 'X') fail(fmt::format("the escape \\{}", c));
    return number(16, 2);
  }

  // The character with the number at the front.
  char number(int base, size_t max_digits) {
    const std::string_view digits = rest_.substr(0, max_digits);
    unsigned value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (digits.empty()) fail("the end within a string");
    if (error != std::errc()) fail("the escape \\x without digits");
    if (value > 0xff) fail("an octal escape above \\377");
    skip(static_cast<size_t>(end - digits.data()));
    return static_cast<char>(value);
  }

  void skip_blanks() {
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == '#')
        skip(std::min(rest_.find('\n'), rest_.size()));
      else if (c == ' ' || (c >= '\t' && c <= '\r'))
        skip(1);
      else
        return;
    }
  }

  char next() {
    if (rest_.empty()) fail("the end within a string");
    const char c = rest_.front();
    skip(1);
    return c;
  }

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    skip(1);
    return true;
  }

  void skip(size_t count) {
    line_ += static_cast<size_t>(std::ranges::count(rest_.substr(0, count), '\n'));
    rest_.remove_prefix(count);
  }

  std::string here() const {
    return rest_.empty() ? "the end" : fmt::format("{}", quote(rest_.substr(0, 1)));
  }

  [[noreturn]] void fail(std::string_view found) const {
    throw InvalidArgumentError(fmt::format("line {}: found {}", line_, found));
  }

  std::string_view rest_;
  size_t line_ = 1;
  std::vector<TextField> fields_;
};

}  // namespace

std::vector<TextField> parse_text_message(std::string_view text) {
  return TextParser(text).parse();
}

std::string quote(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (const size_t index = kAlwaysEscaped.find(c); index != kAlwaysEscaped.npos)
      (text += '\\') += kLetters[index];
    else if (byte < 0x20 || byte > 0x7e)
      text += fmt::format("\\{:03o}", byte);
    else
      text += c;
  }
  return text + '"';
}

std::string to_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

}  // namespace crochet::inline v0::internal
