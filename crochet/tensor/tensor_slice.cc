// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tensor/tensor_slice.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0 {
namespace {

// Parses and removes a number at the front; false if there is none.
bool take_number(std::string_view& text, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool take_char(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<SliceExtent> take_extent(std::string_view& text) {
  SliceExtent extent;
  if (text == "-" || text.starts_with("-:")) {
    text.remove_prefix(1);
    return extent;
  }
  if (!take_number(text, extent.start) || !take_char(text, ',') ||
      !take_number(text, extent.length) || extent.start < 0 || extent.length < 1)
    return std::nullopt;
  return extent;
}

SliceExtent resolved(const SliceExtent& extent, int64_t size) {
  if (extent.start == 0 && extent.length == SliceExtent::kWholeDimension) return {0, size};
  if (extent.start < 0 || extent.length < 1 || extent.start > size ||
      extent.length > size - extent.start)
    throw InvalidArgumentError(
        fmt::format("a range of {} from {} on exceeds a dimension of size {}", extent.length,
                    extent.start, size));
  return extent;
}

}  // namespace

TensorSlice parse_slice(std::string_view text) {
  TensorSlice slice;
  for (std::string_view rest = text; !rest.empty() || !slice.empty();) {
    const auto extent = take_extent(rest);
    if (!extent)
      throw InvalidArgumentError(
          fmt::format("slice \"{}\": expected \"start,length\" or \"-\" for each dimension", text));
    slice.push_back(*extent);
    if (rest.empty()) break;
    if (!take_char(rest, ':'))
      throw InvalidArgumentError(
          fmt::format("slice \"{}\": found \"{}\", expected a colon", text, rest));
  }
  return slice;
}

std::string to_string(const TensorSlice& slice) {
  std::string text;
  for (const SliceExtent& extent : slice) {
    if (&extent != &slice.front()) text += ':';
    text += extent.length == SliceExtent::kWholeDimension
                ? "-"
                : fmt::format("{},{}", extent.start, extent.length);
  }
  return text;
}

namespace internal {

TensorSlice resolved(const TensorSlice& slice, const Shape& shape) {
  if (slice.size() != static_cast<size_t>(shape.rank()))
    throw InvalidArgumentError(
        fmt::format("slice \"{}\": its rank does not match the shape {}", to_string(slice), shape));
  TensorSlice result;
  for (size_t i = 0; i < slice.size(); ++i)
    result.push_back(crochet::resolved(slice[i], shape[static_cast<int>(i)]));
  return result;
}

TensorSlice whole_slice(const Shape& shape) {
  TensorSlice slice;
  for (const int64_t size : shape.dimensions()) slice.push_back({0, size});
  return slice;
}

Shape shape_of(const TensorSlice& slice) {
  std::vector<int64_t> sizes;
  for (const SliceExtent& extent : slice) sizes.push_back(extent.length);
  return Shape(sizes);
}

std::optional<TensorSlice> intersection(const TensorSlice& a, const TensorSlice& b) {
  TensorSlice common;
  for (size_t i = 0; i < a.size(); ++i) {
    const int64_t start = std::max(a[i].start, b[i].start);
    const int64_t end = std::min(a[i].start + a[i].length, b[i].start + b[i].length);
    if (start >= end) return std::nullopt;
    common.push_back({start, end - start});
  }
  return common;
}

namespace {

// The offset in a slice of the element at `position` of the whole tensor.
int64_t offset_within(const TensorSlice& slice, const std::vector<int64_t>& position) {
  int64_t offset = 0;
  for (size_t i = 0; i < slice.size(); ++i)
    offset = offset * slice[i].length + position[i] - slice[i].start;
  return offset;
}

// Advances to the next row; false after the last one.
bool next_row(const TensorSlice& within, std::vector<int64_t>& position) {
  for (size_t i = within.size(); i-- > 1;) {
    const SliceExtent& extent = within[i - 1];
    if (++position[i - 1] < extent.start + extent.length) return true;
    position[i - 1] = extent.start;
  }
  return false;
}

}  // namespace

void for_each_common_row(const TensorSlice& from, const TensorSlice& to,
                         const std::function<void(const CommonRow&)>& copy) {
  const auto common = intersection(from, to);
  if (!common) return;
  std::vector<int64_t> position;
  for (const SliceExtent& extent : *common) position.push_back(extent.start);
  const int64_t length = common->empty() ? 1 : common->back().length;
  do {
    copy({offset_within(from, position), offset_within(to, position), length});
  } while (next_row(*common, position));
}

}  // namespace internal
}  // namespace crochet::inline v0
