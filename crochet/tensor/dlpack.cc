// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tensor/dlpack.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0 {
namespace {

// kDLBool in later versions.
constexpr uint8_t kBoolCode = 6;

struct TypePair {
  DType dtype;
  uint8_t code;
};

// The bits follow from the DType. For export, the first entry of a DType is used.
constexpr TypePair kTypes[] = {
    {DType::kFloat, kDLFloat},       {DType::kDouble, kDLFloat},
    {DType::kHalf, kDLFloat},        {DType::kBfloat16, kDLBfloat},
    {DType::kInt8, kDLInt},          {DType::kInt16, kDLInt},
    {DType::kInt32, kDLInt},         {DType::kInt64, kDLInt},
    {DType::kUint8, kDLUInt},        {DType::kUint16, kDLUInt},
    {DType::kUint32, kDLUInt},       {DType::kUint64, kDLUInt},
    {DType::kComplex64, kDLComplex}, {DType::kComplex128, kDLComplex},
    {DType::kBool, kDLUInt},  // After kUint8, which is what import makes of it.
    {DType::kBool, kBoolCode},
};

size_t bits_of(DType dtype) { return 8 * element_size(dtype); }

DType dtype_from(const DLDataType& type) {
  const auto* const found = std::ranges::find_if(kTypes, [&](const TypePair& pair) {
    return pair.code == type.code && bits_of(pair.dtype) == type.bits;
  });
  if (type.lanes != 1 || found == std::end(kTypes))
    throw InvalidArgumentError(
        fmt::format("DLPack tensor: no matching element type for type code {}, {} bits, {} lanes",
                    type.code, type.bits, type.lanes));
  return found->dtype;
}

DLDataType type_for(DType dtype) {
  const auto* const found = std::ranges::find(kTypes, dtype, &TypePair::dtype);
  if (found == std::end(kTypes))
    throw InvalidArgumentError(fmt::format("DLPack has no equivalent of type {}", dtype));
  return {.code = found->code, .bits = static_cast<uint8_t>(bits_of(dtype)), .lanes = 1};
}

void delete_managed(DLManagedTensor* managed) noexcept {
  if (managed->deleter != nullptr) managed->deleter(managed);
}

std::span<const int64_t> sizes_of(const DLTensor& tensor) {
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr))
    throw InvalidArgumentError(fmt::format("DLPack tensor: {} dimensions {} a shape", tensor.ndim,
                                           tensor.shape == nullptr ? "without" : "with"));
  return {tensor.shape, static_cast<size_t>(tensor.ndim)};
}

Shape shape_of(const DLTensor& tensor) {
  const auto sizes = sizes_of(tensor);
  if (std::ranges::any_of(sizes, [](int64_t size) { return size < 0; }))
    throw InvalidArgumentError(
        fmt::format("DLPack tensor: shape [{}] has a negative size", fmt::join(sizes, ",")));
  return Shape(sizes);
}

// Strides in elements, for row-major order.
std::vector<int64_t> compact_strides(std::span<const int64_t> sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * std::max<int64_t>(sizes[i], 1);
  return strides;
}

// The stride of a dimension with one element does not matter.
bool is_compact(const DLTensor& tensor, const Shape& shape) {
  if (tensor.strides == nullptr || shape.num_elements() == 0) return true;
  const std::vector<int64_t> compact = compact_strides(shape.dimensions());
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] != 1 && tensor.strides[i] != compact[static_cast<size_t>(i)]) return false;
  return true;
}

// The number of repetitions of an inner block, and their distance in bytes.
struct Repeat {
  int64_t count;
  int64_t stride_bytes;
};

// From the outermost dimension inwards. Dimensions of one element are left out, which leaves at
// most 62. Throws if an element is too far from the first one to be addressed.
std::vector<Repeat> repeats_of(const DLTensor& tensor, const Shape& shape, int64_t element_bytes) {
  std::vector<Repeat> repeats;
  int64_t reach = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    int64_t stride = 0;
    int64_t length = 0;
    if (__builtin_mul_overflow(tensor.strides[i], element_bytes, &stride) ||
        stride == std::numeric_limits<int64_t>::min() ||
        __builtin_mul_overflow(shape[i], std::abs(stride), &length) ||
        __builtin_add_overflow(reach, length, &reach))
      throw InvalidArgumentError(
          fmt::format("DLPack tensor of shape {}: dimension {} has a stride of {}", shape, i,
                      tensor.strides[i]));
    repeats.push_back({shape[i], stride});
  }
  return repeats;
}

// Copies scattered blocks to consecutive memory; returns its end.
std::byte* gather(std::span<const Repeat> repeats, size_t block_bytes, const std::byte* from,
                  std::byte* to) {
  if (repeats.empty()) return std::copy_n(from, block_bytes, to);
  const auto [count, stride] = repeats.front();
  for (int64_t k = 0; k < count; ++k)
    to = gather(repeats.subspan(1), block_bytes, from + k * stride, to);
  return to;
}

Tensor copy_of(const DLTensor& tensor, DType dtype, const Shape& shape, const std::byte* data) {
  Tensor copy(dtype, shape);
  std::byte* const to = copy.writable_bytes().data();
  if (is_compact(tensor, shape)) {
    std::copy_n(data, copy.num_bytes(), to);
    return copy;
  }
  auto block_bytes = static_cast<int64_t>(element_size(dtype));
  std::vector<Repeat> repeats = repeats_of(tensor, shape, block_bytes);
  for (; !repeats.empty() && repeats.back().stride_bytes == block_bytes; repeats.pop_back())
    block_bytes *= repeats.back().count;
  gather(repeats, static_cast<size_t>(block_bytes), data, to);
  return copy;
}

const std::byte* first_byte(const DLTensor& tensor) {
  const auto* const data = static_cast<const std::byte*>(tensor.data);
  if (tensor.byte_offset > std::numeric_limits<ptrdiff_t>::max())
    throw InvalidArgumentError(
        fmt::format("DLPack tensor: a byte_offset of {}", tensor.byte_offset));
  return data == nullptr ? nullptr : data + tensor.byte_offset;
}

bool is_aligned(const std::byte* data, size_t alignment) {
  return alignment <= 1 || reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

// The required alignment of a type's elements; a complex number consists of two elements of half
// its size.
size_t element_alignment(DType dtype) {
  const bool is_complex = dtype == DType::kComplex64 || dtype == DType::kComplex128;
  return element_size(dtype) / (is_complex ? 2 : 1);
}

// An exported tensor, with the memory that its pointers refer to.
struct Exported {
  Tensor tensor;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  DLManagedTensor managed = {};
};

DLManagedTensor* exported(Tensor tensor) {
  const DLDataType type = type_for(tensor.dtype());
  const auto sizes = tensor.shape().dimensions();
  auto out = std::make_unique<Exported>();
  out->shape.assign(sizes.begin(), sizes.end());
  out->strides = compact_strides(sizes);
  out->tensor = std::move(tensor);
  out->managed.dl_tensor = {.data = const_cast<std::byte*>(out->tensor.bytes().data()),
                            .device = {.device_type = kDLCPU, .device_id = 0},
                            .ndim = static_cast<int>(out->shape.size()),
                            .dtype = type,
                            .shape = out->shape.data(),
                            .strides = out->strides.data(),
                            .byte_offset = 0};
  out->managed.manager_ctx = out.get();
  out->managed.deleter = [](DLManagedTensor* self) {
    delete static_cast<Exported*>(self->manager_ctx);
  };
  return &out.release()->managed;
}

}  // namespace

Tensor from_dlpack(DLManagedTensor* managed, const FromDLPackOptions& options) {
  if (managed == nullptr) throw InvalidArgumentError("the DLPack tensor is a null pointer");
  std::unique_ptr<DLManagedTensor, decltype(&delete_managed)> owner(managed, delete_managed);
  const DLTensor& tensor = managed->dl_tensor;
  if (tensor.device.device_type != kDLCPU)
    throw InvalidArgumentError(
        fmt::format("DLPack tensor: found a device of type {}, expected {}, the CPU",
                    static_cast<int>(tensor.device.device_type), static_cast<int>(kDLCPU)));
  const DType dtype = dtype_from(tensor.dtype);
  const Shape shape = shape_of(tensor);
  if (tensor.data == nullptr && shape.num_elements() > 0)
    throw InvalidArgumentError(fmt::format("DLPack tensor {} {} without memory", dtype, shape));
  const std::byte* const data = first_byte(tensor);
  if (!is_compact(tensor, shape) || !is_aligned(data, element_alignment(dtype)) ||
      !is_aligned(data, options.alignment))
    return copy_of(tensor, dtype, shape, data);
  const size_t size = Tensor::num_bytes(dtype, shape);
  Buffer buffer = Buffer::borrow(
      {data, size},
      [](void* self) noexcept { delete_managed(static_cast<DLManagedTensor*>(self)); }, managed);
  static_cast<void>(owner.release());
  return Tensor::from_buffer(dtype, shape, std::move(buffer));
}

DLManagedTensor* to_dlpack(const Tensor& tensor) { return exported(tensor); }

DLManagedTensor* to_dlpack_copy(const Tensor& tensor) {
  Tensor copy(tensor.dtype(), tensor.shape());
  std::ranges::copy(tensor.bytes(), copy.writable_bytes().begin());
  return exported(std::move(copy));
}

}  // namespace crochet::inline v0
