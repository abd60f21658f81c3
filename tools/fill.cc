// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/fill.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/tensor/internal/convert.h"
#include "crochet/tensor/internal/fmt.h"
#include "tools/renaming.h"

namespace crochet::tool {
namespace {

// False unless the whole text is a number of this type.
template <typename T>
bool parse(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

DType parse_dtype(std::string_view text) {
  for (int32_t number = 1; is_valid_dtype(number); ++number)
    if (text == dtype_name(static_cast<DType>(number))) return static_cast<DType>(number);
  return DType::kInvalid;
}

// "64,128"; nothing for a scalar.
std::optional<Shape> parse_sizes(std::string_view text) {
  std::vector<int64_t> sizes;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    int64_t size = 0;
    if (!parse(text.substr(0, comma), size) || size < 0) return std::nullopt;
    sizes.push_back(size);
    if (comma == text.size() - 1) return std::nullopt;
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return Shape(sizes);
}

// The value as a scalar: exact for integers and bool.
Tensor parse_value(std::string_view text) {
  if (text.empty()) return Tensor::scalar<int64_t>(0);
  if (text == "true" || text == "false") return Tensor::scalar<bool>(text == "true");
  if (int64_t number = 0; parse(text, number)) return Tensor::scalar(number);
  if (uint64_t number = 0; parse(text, number)) return Tensor::scalar(number);
  if (double number = 0; parse(text, number)) return Tensor::scalar(number);
  throw InvalidArgumentError(fmt::format("\"{}\" is not a number", text));
}

}  // namespace

Fill parse_fill(std::string_view text) {
  auto [name, value] = parse_renaming(text);
  const auto refuse = [&](std::string_view found) {
    throw InvalidArgumentError(
        fmt::format("--fill {}: expected <name>=<value>, or <name>=<dtype>[<sizes>] as in "
                    "\"w=float32[64,128]\", found \"{}\"",
                    text, found));
  };
  const size_t open = value.find('[');
  const DType dtype = parse_dtype(std::string_view(value).substr(0, open));
  if (open == std::string::npos || dtype == DType::kInvalid) {
    if (value.empty()) refuse(value);
    return {.name = std::move(name), .value = std::move(value)};
  }
  const size_t close = value.find(']', open);
  if (close == std::string::npos) refuse(value);
  const auto shape = parse_sizes(std::string_view(value).substr(open + 1, close - open - 1));
  const std::string_view rest = std::string_view(value).substr(close + 1);
  if (!shape || (!rest.empty() && !rest.starts_with(':'))) refuse(value);
  return {.name = std::move(name),
          .type = Fill::Type{dtype, *shape},
          .value = std::string(rest.empty() ? rest : rest.substr(1))};
}

Tensor filled(const Fill::Type& type, const std::string& value) {
  const auto count = static_cast<size_t>(type.shape.num_elements());
  if (type.dtype == DType::kString)
    return Tensor::from(std::vector<std::string>(count, value), type.shape);
  Tensor tensor(type.dtype, type.shape);
  const std::span<std::byte> bytes = tensor.mutable_bytes();
  if (bytes.empty()) return tensor;
  const size_t size = element_size(type.dtype);
  if (value.empty()) {
    std::memset(bytes.data(), 0, bytes.size());
    return tensor;
  }
  const Tensor element = parse_value(value);
  if (!internal::can_convert(element.dtype(), type.dtype))
    throw InvalidArgumentError(
        fmt::format("a tensor of type {} can only be filled with 0, by an "
                    "empty value, found \"{}\"",
                    type.dtype, value));
  internal::convert(element, type.dtype, bytes.first(size));
  for (size_t done = size; done < bytes.size(); done *= 2)  // Doubles what is filled.
    std::memcpy(bytes.data() + done, bytes.data(), std::min(done, bytes.size() - done));
  return tensor;
}

}  // namespace crochet::tool
