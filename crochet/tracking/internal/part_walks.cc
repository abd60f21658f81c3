// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tracking/internal/part_walks.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/saver/restore_options.h"

namespace crochet::inline v0::internal {
namespace {

// The value's own name is known to the caller.
std::string part_of(const std::string& name) {
  return name.empty() ? "" : fmt::format("\"{}\": ", name);
}

// The name of the type T, without namespaces: of "... [with T = app::Agent; ...]" or "... [T =
// ...]".
std::string type_in(std::string_view signature) {
  constexpr std::string_view kStart = "T = ";
  signature.remove_prefix(std::min(signature.find(kStart) + kStart.size(), signature.size()));
  signature = signature.substr(0, signature.find_first_of(";]"));
  const size_t end_of_namespaces = signature.substr(0, signature.find('<')).rfind("::");
  if (end_of_namespaces != std::string_view::npos) signature.remove_prefix(end_of_namespaces + 2);
  return std::string(signature);
}

}  // namespace

void throw_cannot_make(const std::string& name) {
  throw InvalidArgumentError(
      fmt::format("{}the checkpoint has a part that the program lacks and cannot make: its type "
                  "has no default constructor, or cannot be moved; make the part before",
                  part_of(name)));
}

void throw_valueless(const std::string& name) {
  throw FailedPreconditionError(
      fmt::format("{}a tracked variant has no value, since an exception took it", part_of(name)));
}

void throw_bad_keys(const std::string& name) {
  throw InvalidArgumentError(fmt::format(
      "{}the stored keys are not as many as the values, or one is there twice", part_of(name)));
}

void throw_other_keys(const std::string& name) {
  throw InvalidArgumentError(fmt::format(
      "{}the stored keys are others than those of this program, whose container is fixed",
      part_of(name)));
}

void throw_partial_keys(const std::string& name) {
  throw InvalidArgumentError(fmt::format(
      "{}a container whose keys have parts is restored as a whole or not at all", part_of(name)));
}

void throw_unknown_class(const std::string& name, const std::string& found, const char* signature,
                         bool has_list) {
  const std::string base = type_in(signature);
  throw FailedPreconditionError(fmt::format(
      "\"{}\": found an object of class {} at a pointer to {}, expected {}: a restore would not "
      "know its class. {} crochet_classes(const {}*), see crochet/tracking/tracker.h; or, if the "
      "program makes the object itself, track the object instead of the pointer",
      name, found, base, has_list ? "a class that crochet_classes() lists" : base,
      has_list ? "Add the class to" : "List such classes in", base));
}

void throw_unknown_class_name(const std::string& name, const std::string& found, bool has_object) {
  if (found.empty())
    throw InvalidArgumentError(fmt::format(
        "\"{}\" has no class in the checkpoint, and no object in the program: make it before the "
        "restore",
        name));
  const std::string other =
      has_object ? fmt::format(", or write .keep = {{{}}} to keep this program's object",
                               literal(pattern_for(name)))
                 : "";
  throw InvalidArgumentError(
      fmt::format("\"{}\" is of the class \"{}\" in the checkpoint, which crochet_classes() does "
                  "not list: add it "
                  "there{}",
                  name, found, other));
}

size_t stored_size(const StoredParts& stored) {
  size_t size = 0;
  while (!stored.beneath(std::to_string(size)).empty()) ++size;
  return size;
}

}  // namespace crochet::inline v0::internal
