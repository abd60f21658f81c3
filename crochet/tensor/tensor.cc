// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tensor/tensor.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <type_traits>

#include "crochet/base/error.h"
#include "crochet/tensor/internal/fmt.h"
#include "crochet/tensor/internal/visit_type.h"

namespace crochet::inline v0 {
namespace {

std::span<const std::string> strings_in(const Buffer& buffer) {
  return {reinterpret_cast<const std::string*>(buffer.data()), buffer.size() / sizeof(std::string)};
}

std::span<std::string> strings_in(Buffer& buffer) {
  return {reinterpret_cast<std::string*>(buffer.mutable_data()),
          buffer.size() / sizeof(std::string)};
}

// Moves or copies the strings [first, last), depending on the iterators.
template <typename Iterator>
Buffer make_strings(Iterator first, Iterator last) {
  const auto destroy = [](std::byte* data, size_t size) noexcept {
    std::destroy_n(reinterpret_cast<std::string*>(data), size / sizeof(std::string));
  };
  // Built in a vector first: copying may throw, and the buffer destroys all of its strings.
  std::vector<std::string> made(first, last);
  Buffer buffer(made.size() * sizeof(std::string), destroy);
  std::uninitialized_move(made.begin(), made.end(),
                          reinterpret_cast<std::string*>(buffer.writable_data()));
  return buffer;
}

}  // namespace

size_t Tensor::num_bytes(DType dtype, const Shape& shape) {
  if (element_size(dtype) == 0)
    throw InvalidArgumentError(
        fmt::format("tensor of type {}: its elements have no fixed size", dtype));
  if (!shape.is_fully_known())
    throw InvalidArgumentError(fmt::format("tensor of shape {}: every size must be known", shape));
  int64_t size = 0;
  if (__builtin_mul_overflow(shape.num_elements(), static_cast<int64_t>(element_size(dtype)),
                             &size))
    throw ResourceExhaustedError(fmt::format("tensor {} {}: more bytes than 2^63", dtype, shape));
  return static_cast<size_t>(size);
}

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) {
  if (const size_t size = num_bytes(dtype_, shape_); size > kInlineBytes) buffer_ = Buffer(size);
}

Tensor Tensor::from_buffer(DType dtype, Shape shape, Buffer buffer) {
  Tensor tensor = over_buffer(dtype, std::move(shape), std::move(buffer));
  if (const size_t size = tensor.num_bytes(); size <= kInlineBytes) {
    std::copy_n(tensor.buffer_.data(), size, tensor.inline_);
    tensor.buffer_ = Buffer();
  }
  return tensor;
}

Tensor Tensor::over_buffer(DType dtype, Shape shape, Buffer buffer) {
  const size_t size = num_bytes(dtype, shape);
  if (size != buffer.size())
    throw InvalidArgumentError(fmt::format("tensor {} {}: found a buffer of {} bytes, expected {}",
                                           dtype, shape, buffer.size(), size));
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.buffer_ = std::move(buffer);
  return tensor;
}

Tensor Tensor::copy_of(DType dtype, Shape shape, std::span<const std::byte> values) {
  Tensor tensor(dtype, std::move(shape));
  if (tensor.num_bytes() != values.size())
    throw InvalidArgumentError(fmt::format("tensor of shape {}: found {} values, expected {}",
                                           tensor.shape(), values.size() / element_size(dtype),
                                           tensor.num_elements()));
  std::ranges::copy(values, tensor.writable_bytes().begin());
  return tensor;
}

Tensor Tensor::from(std::vector<std::string> strings, Shape shape) {
  if (!shape.is_fully_known())
    throw InvalidArgumentError(fmt::format("tensor of shape {}: every size must be known", shape));
  if (static_cast<uint64_t>(shape.num_elements()) != strings.size())
    throw InvalidArgumentError(fmt::format("tensor of shape {}: found {} values, expected {}",
                                           shape, strings.size(), shape.num_elements()));
  Tensor tensor;
  tensor.buffer_ = make_strings(std::make_move_iterator(strings.begin()),
                                std::make_move_iterator(strings.end()));
  tensor.dtype_ = DType::kString;
  tensor.shape_ = std::move(shape);
  return tensor;
}

Tensor Tensor::from(std::vector<std::string> strings) {
  const auto number = static_cast<int64_t>(strings.size());
  return from(std::move(strings), Shape{number});
}

Tensor Tensor::scalar(std::string value) {
  std::vector<std::string> strings;
  strings.push_back(std::move(value));
  return from(std::move(strings), Shape{});
}

std::span<const std::string> Tensor::strings() const& {
  check_dtype(DType::kString);
  return strings_in(buffer_);
}

std::span<std::string> Tensor::mutable_strings() & {
  check_dtype(DType::kString);
  if (!buffer_.is_unique()) {
    const std::span<const std::string> shared = strings();
    buffer_ = make_strings(shared.begin(), shared.end());
  }
  return strings_in(buffer_);
}

size_t Tensor::num_characters() const {
  const auto all = strings();
  return std::accumulate(all.begin(), all.end(), size_t{0},
                         [](size_t sum, const std::string& s) { return sum + s.size(); });
}

void Tensor::check_has_bytes() const {
  if (dtype_ == DType::kString)
    throw InvalidArgumentError(
        fmt::format("tensor {} {} has no contiguous bytes; use strings()", dtype_, shape_));
}

std::span<const std::byte> Tensor::bytes() const& {
  check_has_bytes();
  return {buffer_ ? buffer_.data() : inline_, num_bytes()};
}

void Tensor::make_unique() {
  check_has_bytes();
  if (!buffer_ || buffer_.is_unique()) return;
  Buffer copy(buffer_.size());
  std::memcpy(copy.writable_data(), buffer_.data(), buffer_.size());
  buffer_ = std::move(copy);
}

std::span<std::byte> Tensor::mutable_bytes() & {
  make_unique();
  return {buffer_ ? buffer_.mutable_data() : inline_, num_bytes()};
}

std::span<std::byte> Tensor::writable_bytes() & {
  make_unique();
  return {buffer_ ? buffer_.writable_data() : inline_, num_bytes()};
}

void Tensor::check_dtype(DType wanted) const {
  if (dtype_ != wanted)
    throw InvalidArgumentError(fmt::format("tensor: found type {}, expected {}", dtype_, wanted));
}

void Tensor::check_single() const {
  if (num_elements() != 1)
    throw InvalidArgumentError(fmt::format("tensor {}: found {} elements, expected one",
                                           is_set() ? to_string(shape_) : "(unset)",
                                           num_elements()));
}

void Tensor::check_bools() const {
  const auto found = std::ranges::find_if(bytes(), [](std::byte b) { return b > std::byte{1}; });
  if (found != bytes().end())
    throw InvalidArgumentError(
        fmt::format("tensor {} {}: the byte of element {}: found {}, expected 0 or 1", dtype_,
                    shape_, found - bytes().begin(), std::to_integer<int>(*found)));
}

double Tensor::to_double() const {
  check_single();
  double number = 0;
  const bool is_real = internal::visit_real_type(dtype_, [&]<typename T>(T value) {
    const std::byte* const data = bytes().data();
    if constexpr (std::is_same_v<T, bool>) {
      number = *data == std::byte{} ? 0 : 1;
    } else {
      std::copy_n(data, sizeof(T), reinterpret_cast<std::byte*>(&value));
      number = static_cast<double>(value);
    }
  });
  if (!is_real)
    throw InvalidArgumentError(
        fmt::format("tensor: found type {}, expected a real number", dtype_));
  return number;
}

bool operator==(const Tensor& a, const Tensor& b) {
  if (a.dtype_ != b.dtype_ || a.shape_ != b.shape_) return false;
  if (a.dtype_ == DType::kString) return std::ranges::equal(a.strings(), b.strings());
  return std::ranges::equal(a.bytes(), b.bytes());
}

namespace {

// Longer texts are cut in log lines.
constexpr size_t kLongestText = 40;

std::string quoted(const std::string& text) {
  return text.size() <= kLongestText ? fmt::format("\"{}\"", text)
                                     : fmt::format("\"{}\"...", text.substr(0, kLongestText));
}

// With as few digits as distinguish the value from others of its type.
std::string value_text(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kString:
      return quoted(tensor.strings()[0]);
    case DType::kFloat:
      return fmt::format("{}", tensor.scalar<float>());
    case DType::kInt64:
      return fmt::format("{}", tensor.scalar<int64_t>());
    case DType::kUint64:
      return fmt::format("{}", tensor.scalar<uint64_t>());
    default:
      return fmt::format("{}", tensor.to_double());
  }
}

}  // namespace

std::string describe(const Tensor& tensor) {
  if (!tensor.is_set()) return "unset";
  std::string text = fmt::format("{} {}", tensor.dtype(), tensor.shape());
  try {
    return tensor.num_elements() == 1 ? fmt::format("{} = {}", text, value_text(tensor)) : text;
  } catch (const InvalidArgumentError&) {
    return text;
  }
}

}  // namespace crochet::inline v0
