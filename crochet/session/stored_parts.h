// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/tensor/dtype.h"
#include "crochet/tensor/shape.h"

namespace crochet::inline v0 {
namespace internal {

// Names of parts that stand for what has no parts: an empty container, and a value that is absent.
// No key of a map has such a name.
inline constexpr std::string_view kEmptyName = "%empty";
inline constexpr std::string_view kNullName = "%null";
// The class of an object: the part beneath it has the name of the class.
inline constexpr std::string_view kClassName = "%class";
// How many rows each rank has of arrays that the ranks have together.
inline constexpr std::string_view kRowsName = "%rows";

}  // namespace internal

// What a checkpoint has at and beneath the name of a value, by the names relative to it.
//
//   void make(const StoredParts& stored) {
//     for (const std::string& name : stored.names())
//       moments.try_emplace(name, stored.find(name)->shape);
//   }
//
// A value; copies share the names.
class CROCHET_EXPORT StoredParts {
 public:
  struct Part {
    DType dtype = DType::kInvalid;
    Shape shape = {};
    bool is_own = false;  // Not stored: the program's, which stays.
  };
  using Map = std::map<std::string, Part, std::less<>>;

  StoredParts();
  // `parts` by their relative names; "" is the entry of the value itself.
  explicit StoredParts(Map parts, bool is_partial = false);

  // True if the checkpoint has nothing here.
  bool empty() const;
  // True if what is here is the program's own, which stays as it is.
  bool is_own() const;
  // The entry with this name; null if there is none. "" is the value's own entry.
  const Part* find(std::string_view name) const;
  // The names up to the first "/", each once, sorted as texts.
  std::vector<std::string> names() const;
  // What the checkpoint has at and beneath `name`.
  StoredParts beneath(std::string_view name) const;
  // All entries, by their relative names.
  Map all() const;

  // True if only some of the entries are restored: then a value keeps the parts that are not here.
  bool is_partial() const { return is_partial_; }

 private:
  const Part* first() const;  // Null if the checkpoint has nothing here.

  std::shared_ptr<const Map> parts_;
  std::string root_;
  bool is_partial_;
};

}  // namespace crochet::inline v0
