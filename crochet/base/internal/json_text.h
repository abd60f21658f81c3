// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// Builds JSON in one line, part by part:
//
//   JsonText line;
//   line.begin_object();
//   line.member("step", int64_t{100});
//   line.key("losses");
//   line.begin_list();
//   line.add(0.5);
//   line.end_list();
//   line.end_object();
//   std::string text = line.take();  // {"step":100,"losses":[0.5]}
//
// No object or list of nlohmann::json is built on the way: those allocate when they are destroyed,
// and end the process if memory is short.
//
// Requires: the calls follow JSON's grammar.
class CROCHET_EXPORT JsonText {
 public:
  void begin_object() { begin('{'); }
  void end_object() { text_ += '}'; }
  void begin_list() { begin('['); }
  void end_list() { text_ += ']'; }

  void key(std::string_view name);
  // A number that JSON does not have becomes one of the strings "NaN", "Infinity" and "-Infinity".
  void add(double number);
  void add(int64_t number);
  void add(bool value);
  // Bytes that are not UTF-8 become U+FFFD.
  void add(std::string_view text);
  void add(const char* text) { add(std::string_view(text)); }

  template <typename Value>
  void member(std::string_view name, const Value& value) {
    key(name);
    add(value);
  }

  std::string take();

 private:
  void begin(char bracket);
  // Ends the part before this one.
  void separate();

  std::string text_;
};

}  // namespace crochet::inline v0::internal
