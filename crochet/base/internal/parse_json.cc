// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/parse_json.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {
namespace {

using nlohmann::json;

// Messages of the JSON library quote the last token, which may be as long as the text.
constexpr size_t kMaxMessageBytes = 200;

// Counts brackets outside strings. Up to the first error, where the parser stops, they give the
// depth of nesting. At a zero byte the parser would stop as if the text ended there.
void check(std::string_view text, std::string_view document) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\0') throw DataLossError(fmt::format("{}: byte {}: a zero byte", document, i));
    if (c == '"')
      in_string = !in_string;
    else if (in_string)
      i += c == '\\' ? 1 : 0;
    else if (c == ']' || c == '}')
      --depth;
    else if ((c == '[' || c == '{') && ++depth > kMaxJsonDepth)
      throw DataLossError(
          fmt::format("{}: byte {}: nested deeper than {} levels", document, i, kMaxJsonDepth));
  }
}

[[noreturn]] void throw_not_json(std::string_view document, size_t byte,
                                 const json::exception& error) {
  const std::string_view message = error.what();
  throw DataLossError(fmt::format("{}: byte {}: {}{}", document, byte,
                                  message.substr(0, kMaxMessageBytes),
                                  message.size() > kMaxMessageBytes ? "..." : ""));
}

// From the leaves on: a container without children is destroyed without an allocation.
// (A container has no memory yet if that was short when it was made.)
void dismantle(json& value) noexcept {
  if (auto* const object = value.get_ptr<json::object_t*>()) {
    for (auto& [name, child] : *object) dismantle(child);
    object->clear();
  } else if (auto* const array = value.get_ptr<json::array_t*>()) {
    for (json& child : *array) dismantle(child);
    array->clear();
  }
}

class TreeBuilder final : public JsonHandler {
 public:
  TreeBuilder(std::string_view document, json& root) : JsonHandler(document), root_(root) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(int64_t value) override { return add(value); }
  bool number_unsigned(uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool start_object(size_t) override { return open(json::value_t::object); }
  bool start_array(size_t) override { return open(json::value_t::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    member_ = &(*open_.back())[name];
    return true;
  }

 private:
  // The new value.
  json& place(json value) {
    json* place = &root_;
    if (!open_.empty() && open_.back()->is_array()) {
      open_.back()->push_back(nullptr);
      place = &open_.back()->back();
    } else if (!open_.empty()) {
      place = member_;
    }
    dismantle(*place);  // A member may be there twice.
    *place = std::move(value);
    return *place;
  }
  bool add(json value) {
    place(std::move(value));
    return true;
  }
  bool open(json::value_t type) {
    json& opened = place(json(type));
    open_.push_back(&opened);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  json& root_;
  std::vector<json*> open_;
  json* member_ = nullptr;
};

}  // namespace

JsonTree::~JsonTree() { dismantle(root); }

void parse_json(std::string_view text, std::string_view document, JsonTree& tree) {
  dismantle(tree.root);
  tree.root = nullptr;
  TreeBuilder builder(document, tree.root);
  parse_json(text, builder);
}

bool JsonHandler::parse_error(size_t byte, const std::string&, const json::exception& error) {
  throw_not_json(document(), byte, error);
}

void parse_json(std::string_view text, JsonHandler& handler) {
  check(text, handler.document());
  json::sax_parse(text.begin(), text.end(), &handler);
}

}  // namespace crochet::inline v0::internal
