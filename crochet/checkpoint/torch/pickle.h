// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crochet::inline v0::internal {

// A value in a pickle. Others refer to it by its index, so that one may have several parents, and
// even be within itself.
struct PickleValue {
  enum class Kind : uint8_t {
    kNone,
    kBool,    // In `integer`.
    kInt,     // In `integer`.
    kFloat,   // In `real`.
    kString,  // In `text`.
    kTuple,
    kList,
    kDict,        // Its items are key, value, key, value, ...
    kGlobal,      // A function or class; `text` is "<module>\n<name>".
    kCall,        // Its items are a global and the tuple of its arguments.
    kObject,      // Of a class. Its items are a global, and the state if there is one.
    kPersistent,  // Its item is an identifier, by which torch refers to a storage.
  };

  Kind kind = Kind::kNone;
  uint32_t position = 0;  // In the pickle.
  union {
    int64_t integer = 0;
    double real;
  };
  std::string_view text = {};  // In the pickle's bytes.
  std::vector<uint32_t> items = {};
};

struct Pickle {
  std::vector<PickleValue> values;
  uint32_t root;
};

// Decodes a pickle of protocol 2, as far as torch writes it. Nothing is imported and nothing is
// called: functions, classes and calls are values. Takes memory in proportion to the bytes, and no
// deep stack.
//
// `is_known` says which globals ("<module>\n<name>") are accepted. `document` is for messages: file
// and entry. Requires: `bytes` outlives the result; there are less than 2^32 of them.
// Throws: DataLossError for bytes that are not a pickle; UnimplementedError for other protocols,
// operations, globals, and integers beyond int64.
Pickle parse_pickle(std::string_view bytes, std::string_view document,
                    bool (*is_known)(std::string_view global));

// The name of a global as in Python: "collections.OrderedDict".
std::string python_name(std::string_view global);
// For messages: "a string".
const char* kind_name(PickleValue::Kind kind);

inline constexpr std::string_view kOrderedDict = "collections\nOrderedDict";

}  // namespace crochet::inline v0::internal
