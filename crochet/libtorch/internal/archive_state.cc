// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/archive_state.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <torch/serialize/archive.h>

#include "crochet/base/error.h"
#include "crochet/libtorch/tensor.h"
#include "crochet/session/saveable.h"

namespace crochet::inline v0::libtorch::internal {
namespace {

constexpr char kNested = ':';

// The module in which an archive keeps its values.
template <typename Tag, typename Tag::Member kMember>
struct OpenedArchive {
  friend typename Tag::Member member_of(Tag) { return kMember; }
};
struct ArchiveModule {
  using Member = torch::jit::Module torch::serialize::OutputArchive::*;
  friend Member member_of(ArchiveModule);
};
template struct OpenedArchive<ArchiveModule, &torch::serialize::OutputArchive::module_>;

// What is not a tensor is saved as a text with its type, "int 5", since load() distinguishes it
// from a tensor without dimensions. Numbers are exact.
std::string text_of(const c10::IValue& value, const std::string& name) {
  if (value.isInt()) return fmt::format("int {}", value.toInt());
  if (value.isDouble()) return fmt::format("double {:a}", value.toDouble());
  if (value.isBool()) return fmt::format("bool {}", value.toBool() ? 1 : 0);
  if (value.isString()) return "str " + value.toStringRef();
  if (value.isNone()) return "None";
  throw InvalidArgumentError(
      fmt::format("value \"{}\" of an archive is a {}: expected a tensor, a number, a text or "
                  "nothing",
                  name, value.tagKind()));
}

c10::IValue value_of(const std::string& text, const std::string& name) {
  const size_t space = text.find(' ');
  const std::string type = text.substr(0, space);
  const std::string value = space == std::string::npos ? "" : text.substr(space + 1);
  char* end = nullptr;
  errno = 0;
  if (type == "None" && value.empty()) return {};
  if (type == "str") return value;
  if (type == "int") {
    const long long number = std::strtoll(value.c_str(), &end, 10);
    if (errno == 0 && !value.empty() && *end == 0) return static_cast<int64_t>(number);
  } else if (type == "double") {
    const double number = std::strtod(value.c_str(), &end);
    if (!value.empty() && *end == 0) return number;
  } else if (type == "bool" && (value == "0" || value == "1")) {
    return value == "1";
  }
  throw InvalidArgumentError(
      fmt::format("\"{}\": found \"{:.60}\", expected a number or text with its type", name, text));
}

void add_values(const torch::jit::Module& module, const std::string& prefix, TensorMap& values) {
  const auto object = module._ivalue();
  for (size_t i = 0; i < object->type()->numAttributes(); ++i) {
    const std::string& attribute = object->type()->getAttributeName(i);
    const c10::IValue& value = object->getSlot(i);
    const std::string name = prefix + attribute;
    if (value.isModule()) {
      add_values(value.toModule(), name + kNested, values);
    } else if (value.isTensor()) {
      if (value.toTensor().defined()) values.emplace(name, to_tensor(value.toTensor()));
    } else {
      values.emplace(name, Tensor::scalar(text_of(value, name)));
    }
  }
}

// A value at `name`, or what is in a nested archive.
struct Node {
  const Tensor* value = nullptr;
  std::map<std::string, Node> nested = {};
};

Node tree_of(const TensorMap& values) {
  Node root;
  for (const auto& [name, value] : values) {
    Node* node = &root;
    for (size_t begin = 0; begin <= name.size();) {
      const size_t end = std::min(name.find(kNested, begin), name.size());
      node = &node->nested[name.substr(begin, end - begin)];
      begin = end + 1;
    }
    node->value = &value;
  }
  return root;
}

void write_values(const Node& node, torch::serialize::OutputArchive& archive) {
  for (const auto& [name, child] : node.nested) {
    if (child.value != nullptr && !child.nested.empty())
      throw InvalidArgumentError(
          fmt::format("\"{}\" is a value and an archive, expected one of them", name));
    if (child.value == nullptr) {
      torch::serialize::OutputArchive nested(archive.compilation_unit());
      write_values(child, nested);
      archive.write(name, nested);
    } else if (child.value->dtype() == DType::kString) {
      if (child.value->num_elements() != 1)
        throw InvalidArgumentError(
            fmt::format("\"{}\": found {} texts, expected one", name, child.value->num_elements()));
      archive.write(name, value_of(child.value->strings()[0], name));
    } else {
      archive.write(name, to_torch(*child.value), true);
    }
  }
}

}  // namespace

TensorMap values_of_archive(const ArchiveFunctions& functions) {
  torch::serialize::OutputArchive archive;
  functions.save(archive);
  TensorMap values;
  add_values(archive.*member_of(ArchiveModule()), "", values);
  return values;
}

void load_archive(const TensorMap& values, const ArchiveFunctions& functions) {
  try {
    torch::serialize::OutputArchive written;
    write_values(tree_of(values), written);
    std::stringstream bytes;
    written.save_to(bytes);
    torch::serialize::InputArchive archive;
    archive.load_from(bytes);
    functions.load(archive);
  } catch (const c10::Error& error) {
    throw InvalidArgumentError(
        fmt::format("LibTorch cannot load the stored state: {}", error.what_without_backtrace()));
  }
}

}  // namespace crochet::inline v0::libtorch::internal

namespace crochet::inline v0::libtorch {

void track_archive(Tracker& tracker, ArchiveFunctions functions) {
  tracker.add_object(
      "", crochet::internal::make_saveable(
              [functions] { return internal::values_of_archive(functions); },
              [functions](const TensorMap& state) { internal::load_archive(state, functions); }));
}

}  // namespace crochet::inline v0::libtorch
