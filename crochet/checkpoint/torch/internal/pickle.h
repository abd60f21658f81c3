// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {

// A value in a pickle. Others refer to it by its index, so that one may have several parents, and
// even be within itself.
struct PickleValue {
  enum class Kind : uint8_t {
    kNone,
    kBool,     // In `integer`.
    kInt,      // In `integer`.
    kUint,     // In `natural`: an int beyond int64.
    kHugeInt,  // An int beyond uint64; `text` has its bytes, little-endian.
    kFloat,    // In `real`.
    kString,   // In `text`.
    kBytes,    // In `text`.
    kTuple,
    kList,
    kSet,
    kDict,        // Its items are key, value, key, value, ...
    kGlobal,      // A function or class; its items are the strings of its module and name.
    kCall,        // The result of a function; its items are PickleParts.
    kObject,      // An object of a class; its items are PickleParts.
    kPersistent,  // Its item is an identifier, by which torch refers to a storage.
  };

  Kind kind = Kind::kNone;
  uint32_t position = 0;  // In the pickle.
  union {
    int64_t integer = 0;
    uint64_t natural;
    double real;
  };
  std::string_view text = {};  // In the pickle's bytes.
  std::vector<uint32_t> items = {};
};

// The items of a kCall or kObject, by number; kNoItem for one that it does not have.
enum PickleParts : size_t {
  kCallee,     // The function or class.
  kArguments,  // A tuple.
  kState,      // Of an object, or of what the function made: often a dict of its attributes.
  kDictItems,  // Of an object that is a dict, too: a dict.
  kListItems,  // Of an object that is a list, too: a list.
  kNumPickleParts,
};
inline constexpr uint32_t kNoItem = std::numeric_limits<uint32_t>::max();

// The name of a function or class. The parts may be as long as the pickle.
struct GlobalName {
  std::string_view module = {};
  std::string_view name = {};

  friend bool operator==(const GlobalName&, const GlobalName&) = default;
};

struct Pickle {
  std::vector<PickleValue> values = {};
  uint32_t root = 0;
  size_t num_bytes = 0;

  const PickleValue& item(const PickleValue& of, size_t i) const { return values[of.items[i]]; }
  // Null if a kCall or kObject has no such part.
  const PickleValue* part(const PickleValue& of, PickleParts part) const {
    return of.items[part] == kNoItem ? nullptr : &item(of, part);
  }
  // Of a kGlobal; empty for any other value.
  GlobalName global_name(const PickleValue& value) const {
    if (value.kind != PickleValue::Kind::kGlobal) return {};
    return {item(value, 0).text, item(value, 1).text};
  }
};

// The pickle ends before its last operation.
class PickleCutShort : public DataLossError {
 public:
  using DataLossError::DataLossError;
};

// Decodes a pickle of the protocols 2 to 5, at the beginning of `bytes`; Pickle::num_bytes is where
// it ends. Nothing is imported and nothing is called: functions, classes, calls and objects are
// values, whatever they are. Takes memory in proportion to the bytes, and no deep stack.
//
// `document` is for messages: file and entry. Requires: `bytes` outlives the result; there are less
// than 2^32 - 1 of them.
// Throws: DataLossError for bytes that are not a pickle; UnimplementedError for other protocols and
// for operations that need more than the bytes.
Pickle parse_first_pickle(std::string_view bytes, std::string_view document);
// The same for bytes that are one pickle. Throws: DataLossError also for bytes after it.
Pickle parse_pickle(std::string_view bytes, std::string_view document);

// The name of a global as in Python, for messages: "collections.OrderedDict". Long ones are cut.
std::string python_name(const GlobalName& global);
// For messages: "a string".
const char* kind_name(PickleValue::Kind kind);

inline constexpr GlobalName kOrderedDict = {"collections", "OrderedDict"};

}  // namespace crochet::inline v0::internal
