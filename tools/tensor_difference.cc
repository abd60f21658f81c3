// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/tensor_difference.h"

#include <fmt/format.h>

#include "crochet/checkpoint/directory/internal/chosen_checkpoint.h"
#include "crochet/tensor/internal/fmt.h"
#include "tools/command.h"
#include "tools/inspection.h"
#include "tools/name_filter.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

constexpr const char* kOnlyInA = "only_in_a";
constexpr const char* kOnlyInB = "only_in_b";
constexpr const char* kTypeOrShape = "type_or_shape";
constexpr const char* kValues = "values";

CheckpointReader open(const Context& context, const std::string& path) {
  return CheckpointReader(internal::chosen_checkpoint(context.files(), path), context.files());
}

std::string info_text(const TensorInfo& info) {
  return fmt::format("{} {}", info.dtype, info.shape);
}

std::string values_text(const TensorDifference& difference) {
  const Comparison& values = difference.values;
  std::string text = fmt::format("{} of {} elements differ", values.num_different,
                                 difference.a.shape.num_elements());
  if (difference.a.dtype != DType::kString)
    text += fmt::format(", by at most {:.6g} (relative {:.6g})", values.max_absolute,
                        values.max_relative);
  return text + fmt::format(", first at {}: {} and {}",
                            position_text(values.first, difference.a.shape),
                            exact_text(values.first_a), exact_text(values.first_b));
}

}  // namespace

Comparer::Comparer(const Context& context, const std::string& a, const std::string& b,
                   const NameFilter& filter, Tolerance tolerance)
    : context_(context),
      filter_(filter),
      tolerance_(tolerance),
      a_(open(context, a)),
      b_(open(context, b)) {}

std::set<std::string> Comparer::names() const {
  std::set<std::string> names;
  for (const CheckpointReader* const reader : {&a_, &b_}) {
    for (const auto& [name, info] : reader->tensors())
      if (filter_.takes(name)) names.insert(name);
    for (const auto& [name, value] : reader->unreadable())
      if (filter_.takes(name)) names.insert(name);
  }
  return names;
}

bool Comparer::can_be_compared(const std::string& name) {
  for (const CheckpointReader* const reader : {&a_, &b_})
    if (const auto found = reader->unreadable().find(name); found != reader->unreadable().end()) {
      had_trouble_ = true;
      context_.complain(fmt::format("{}: \"{}\" {}", reader->prefix(), name, found->second.why));
      return false;
    }
  return true;
}

std::optional<TensorDifference> Comparer::compare_tensor(const std::string& name) {
  if (!can_be_compared(name)) return std::nullopt;
  const auto in_a = a_.tensors().find(name), in_b = b_.tensors().find(name);
  TensorDifference difference;
  difference.name = name;
  difference.kind = in_b == b_.tensors().end()   ? kOnlyInA
                    : in_a == a_.tensors().end() ? kOnlyInB
                                                 : kTypeOrShape;
  if (in_a != a_.tensors().end()) difference.a = in_a->second;
  if (in_b != b_.tensors().end()) difference.b = in_b->second;
  if (difference.kind != kTypeOrShape) return difference;
  if (difference.a.dtype != difference.b.dtype || difference.a.shape != difference.b.shape)
    return difference;
  const auto left = read(a_, name), right = read(b_, name);
  if (!left || !right) return std::nullopt;
  difference.kind = kValues;
  difference.values = compare(*left, *right, tolerance_);
  if (difference.values.num_different == 0) return std::nullopt;
  return difference;
}

std::optional<Tensor> Comparer::read(const CheckpointReader& reader, const std::string& name) {
  ReadResult result = read_if_sound(reader, name);
  if (!result.tensor) {
    had_trouble_ = true;
    context_.complain(result.problem);
  }
  return std::move(result.tensor);
}

std::string text_of(const TensorDifference& difference) {
  const std::string name = printable(difference.name);
  if (difference.kind == kOnlyInA) return fmt::format("< {}: {}\n", name, info_text(difference.a));
  if (difference.kind == kOnlyInB) return fmt::format("> {}: {}\n", name, info_text(difference.b));
  if (difference.kind == kTypeOrShape)
    return fmt::format("! {}: {} and {}\n", name, info_text(difference.a), info_text(difference.b));
  return fmt::format("! {}: {}\n", name, values_text(difference));
}

Json json_of(const TensorDifference& difference) {
  const auto info = [](const TensorInfo& of) -> Json {
    if (of.dtype == DType::kInvalid) return nullptr;
    return {{"type", dtype_name(of.dtype)}, {"shape", of.shape.dimensions()}};
  };
  Json json = {{"name", json_text(difference.name)},
               {"kind", difference.kind},
               {"a", info(difference.a)},
               {"b", info(difference.b)}};
  if (difference.kind != kValues) return json;
  const Comparison& values = difference.values;
  json["num_different"] = values.num_different;
  if (difference.a.dtype != DType::kString) {
    json["max_absolute"] = to_json(values.max_absolute);
    json["max_relative"] = to_json(values.max_relative);
  }
  json["first"] = {
      {"element", values.first}, {"a", to_json(values.first_a)}, {"b", to_json(values.first_b)}};
  return json;
}

}  // namespace crochet::tool
