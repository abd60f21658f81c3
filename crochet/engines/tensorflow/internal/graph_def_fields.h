// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <protozero/pbf_writer.hpp>

#include "crochet/engines/tensorflow/internal/proto_reader.h"

namespace crochet::inline v0::tensorflow::internal {

// The fields used here: of GraphDef, FunctionDefLibrary and FunctionDef,
inline constexpr uint32_t kGraphNode = 1;
inline constexpr uint32_t kGraphLibrary = 2;
inline constexpr uint32_t kLibraryFunction = 1;
inline constexpr uint32_t kFunctionNode = 3;
// of NodeDef,
inline constexpr uint32_t kNodeName = 1;
inline constexpr uint32_t kNodeOp = 2;
inline constexpr uint32_t kNodeInput = 3;
inline constexpr uint32_t kNodeDevice = 4;
inline constexpr uint32_t kNodeAttr = 5;
// and of AttrValue, its list and a NameAttrList.
inline constexpr uint32_t kAttrList = 1;
inline constexpr uint32_t kAttrString = 2;
inline constexpr uint32_t kAttrType = 6;
inline constexpr uint32_t kListString = 2;
inline constexpr uint32_t kListFunc = 9;
inline constexpr uint32_t kFuncName = 1;
// Those of OpDef and of its arguments.
inline constexpr uint32_t kOpInput = 2;
inline constexpr uint32_t kOpOutput = 3;
inline constexpr uint32_t kOpAttr = 4;
inline constexpr uint32_t kOpIsStateful = 17;
inline constexpr uint32_t kArgType = 3;
inline constexpr uint32_t kArgIsReference = 16;

// The fields of a NodeDef. The views refer to the bytes that were read.
struct NodeFields {
  std::string_view name = {};
  std::string_view op = {};
  std::string_view device = {};
  std::vector<std::string_view> inputs = {};
  std::vector<MapEntry> attributes = {};

  // The AttrValue of an attribute; empty if there is none.
  std::string_view attribute(std::string_view key) const;
  std::string_view shared_name() const;
};
NodeFields read_node(ProtoReader node);

// A copy of a message in which `change(bytes)` returns what replaces each field `number`: bytes, or
// nothing. Throws: protozero's exceptions for bytes that are not a message.
template <typename Change>
std::string copy_message(std::string_view bytes, uint32_t number, const Change& change) {
  std::string result;
  protozero::pbf_writer writer(result);
  protozero::pbf_reader message(bytes.data(), bytes.size());
  const char* copied = bytes.data();
  while (message.next()) {
    if (message.tag_and_type() == bytes_field(number)) {
      const std::optional<std::string> changed = change(view_of(message.get_view()));
      if (changed) writer.add_message(number, *changed);
    } else {
      message.skip();
      result.append(copied, message.data().data());
    }
    copied = message.data().data();
  }
  return result;
}

}  // namespace crochet::inline v0::tensorflow::internal
