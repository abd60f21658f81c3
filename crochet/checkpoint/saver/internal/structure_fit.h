// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "crochet/session/parted_saveable.h"

namespace crochet::inline v0::internal {

// What a restore does to the structure of an object with parts. By default the checkpoint's
// structure replaces the program's: entries of containers, and values of optionals and pointers,
// that only the program has are dropped, and those that only the checkpoint has are made. Rules
// about an entry hold if they match all of its parts.
struct StructureFit {
  // The topmost names of what only one of the two has, with all of its parts.
  struct Entry {
    std::string name;  // "adapters/fr"; "" for the whole object.
    std::vector<std::string> parts;
    // Of an optional or a pointer, which has no other entries.
    bool is_nullable = false;
    // The program's container is empty, or its value absent: it waits for the checkpoint's.
    bool is_awaited = false;
    // The value that it is in which options keep as a whole: they do not apply to the entry.
    std::optional<WholeValue> whole = {};
  };
  struct Rules {
    // By the names of parts: whether the program's part stays if the checkpoint lacks it, and
    // whether the checkpoint's is left out if the program lacks it.
    std::function<bool(const std::string& part)> stays;
    std::function<bool(const std::string& part)> is_left_out;
  };

  // `present` are the parts that the program has, `stored` those of the checkpoint.
  StructureFit(const std::vector<StatePart>& present, StoredParts::Map stored, const Rules& rules);

  // The structure that the object is to have.
  StoredParts::Map wanted;
  // Entries that only the program has, and that do not stay; those that only the checkpoint has,
  // and that are not left out. Parts of a struct are among them.
  std::vector<Entry> only_present;
  std::vector<Entry> only_stored;
  // Markers of emptiness in the checkpoint that do not hold, as entries stay.
  std::vector<std::string> void_markers;
  // What only the checkpoint has and is left out.
  std::vector<std::string> left_out;
};

// True for the marker of an empty container or an absent value: the name of a part, or its last
// component.
bool is_marker(const std::string& part);

}  // namespace crochet::inline v0::internal
