// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/torch/internal/pickle_key.h"

#include <utility>

#include <fmt/format.h>

namespace crochet::inline v0::internal {
namespace {

using Kind = PickleValue::Kind;

// Tuples may share their items, so that their texts are longer than the pickle.
constexpr size_t kMaxTupleBytes = 500;
constexpr int kMaxLevels = 8;

// As Python's repr(): what is a whole number ends in ".0".
std::string float_text(double number) {
  std::string text = fmt::format("{}", number);
  const bool is_whole = text.find_first_not_of("-0123456789") == std::string::npos;
  return is_whole ? text + ".0" : text;
}

// Appends the text; false if there is none.
bool append(const Pickle& pickle, const PickleValue& key, int level, std::string& text);

bool append_tuple(const Pickle& pickle, const PickleValue& tuple, int level, std::string& text) {
  if (level == kMaxLevels) return false;
  text += '(';
  for (size_t i = 0; i < tuple.items.size(); ++i) {
    if (i > 0) text += ", ";
    if (!append(pickle, pickle.item(tuple, i), level + 1, text) || text.size() > kMaxTupleBytes)
      return false;
  }
  text += tuple.items.size() == 1 ? ",)" : ")";
  return true;
}

bool append(const Pickle& pickle, const PickleValue& key, int level, std::string& text) {
  switch (key.kind) {
    case Kind::kString:
      text += level == 0 ? std::string(key.text)
                         : fmt::format("'{}'", key.text.substr(0, kMaxTupleBytes));
      return true;
    case Kind::kInt:
      text += fmt::format("{}", key.integer);
      return true;
    case Kind::kUint:
      text += fmt::format("{}", key.natural);
      return true;
    case Kind::kFloat:
      text += float_text(key.real);
      return true;
    case Kind::kBool:
      text += key.integer != 0 ? "True" : "False";
      return true;
    case Kind::kNone:
      text += "None";
      return true;
    case Kind::kTuple:
      return append_tuple(pickle, key, level, text);
    default:
      return false;
  }
}

}  // namespace

std::optional<std::string> key_text(const Pickle& pickle, const PickleValue& key) {
  std::string text;
  return append(pickle, key, 0, text) ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace crochet::inline v0::internal
