// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/tensor_conversion.h"

#include <cstring>
#include <new>
#include <string>
#include <vector>

#include <tensorflow/c/tf_tstring.h>

#include "crochet/base/error.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

bool is_aligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % kBufferAlignment == 0;
}

TF_DataType type_of(const Tensor& tensor) { return static_cast<TF_DataType>(tensor.dtype()); }

TensorPtr allocate(const Tensor& tensor, size_t num_bytes) {
  const std::span<const int64_t> dimensions = tensor.shape().dimensions();
  TensorPtr result(
      TF_AllocateTensor(type_of(tensor), dimensions.data(), tensor.shape().rank(), num_bytes));
  if (!result || (num_bytes > 0 && TF_TensorData(result.get()) == nullptr))
    throw ResourceExhaustedError(
        fmt::format("not enough memory for TensorFlow's tensor of {} bytes", num_bytes));
  return result;
}

// A tensor of TensorFlow's in this memory, which it releases, even on failure.
TensorPtr in_memory(const Tensor& tensor, void* data, size_t num_bytes,
                    void (*release)(void* data, size_t num_bytes, void* held), void* held) {
  const std::span<const int64_t> dimensions = tensor.shape().dimensions();
  TensorPtr result(TF_NewTensor(type_of(tensor), dimensions.data(), tensor.shape().rank(), data,
                                num_bytes, release, held));
  if (!result)
    throw InvalidArgumentError(
        fmt::format("TensorFlow does not accept the tensor {}", describe(tensor)));
  return result;
}

// TensorFlow leaves freeing the strings' contents to the creator of the tensor.
void free_strings(void* data, size_t num_bytes, void*) {
  auto* const elements = static_cast<TF_TString*>(data);
  for (size_t i = 0; i < num_bytes / sizeof(TF_TString); ++i) TF_StringDealloc(elements + i);
  ::operator delete(data, std::align_val_t(kBufferAlignment));
}

TensorPtr copy_strings(const Tensor& tensor) {
  const std::span<const std::string> strings = tensor.strings();
  if (strings.empty()) return allocate(tensor, 0);
  const size_t num_bytes = strings.size() * sizeof(TF_TString);
  void* const data = ::operator new(num_bytes, std::align_val_t(kBufferAlignment));
  auto* element = static_cast<TF_TString*>(data);
  for (const std::string& string : strings) {
    TF_StringInit(element);
    TF_StringCopy(element++, string.data(), string.size());
  }
  return in_memory(tensor, data, num_bytes, free_strings, nullptr);
}

TensorPtr copy_numbers(const Tensor& tensor) {
  TensorPtr result = allocate(tensor, tensor.num_bytes());
  if (tensor.num_bytes() > 0)
    std::memcpy(TF_TensorData(result.get()), tensor.bytes().data(), tensor.num_bytes());
  return result;
}

// TensorFlow holds a copy of the Tensor object, which shares its memory.
TensorPtr share(const Tensor& tensor) {
  auto holder = std::make_unique<Tensor>(tensor);
  void* const data = const_cast<std::byte*>(holder->bytes().data());
  const auto let_go = [](void*, size_t, void* held) { delete static_cast<Tensor*>(held); };
  return in_memory(tensor, data, tensor.num_bytes(), let_go, holder.release());
}

Shape shape_of(const TF_Tensor* tensor) {
  std::vector<int64_t> dimensions;
  for (int i = 0; i < TF_NumDims(tensor); ++i) dimensions.push_back(TF_Dim(tensor, i));
  return Shape(dimensions);
}

Tensor strings_of(const TF_Tensor* tensor) {
  std::vector<std::string> strings(static_cast<size_t>(TF_TensorElementCount(tensor)));
  const auto* element = static_cast<const TF_TString*>(TF_TensorData(tensor));
  for (std::string& string : strings) {
    string.assign(TF_StringGetDataPointer(element), TF_StringGetSize(element));
    ++element;
  }
  return Tensor::from(std::move(strings), shape_of(tensor));
}

}  // namespace

TensorPtr to_tensorflow(const Tensor& tensor) {
  if (!tensor.is_set()) throw InvalidArgumentError("an unset tensor has no value for TensorFlow");
  if (tensor.shape().rank() > kMaxRank)
    throw InvalidArgumentError(
        fmt::format("found a tensor of {} dimensions, TensorFlow allows at most {}",
                    tensor.shape().rank(), kMaxRank));
  if (!is_valid_dtype(static_cast<int32_t>(tensor.dtype())))
    throw InvalidArgumentError(
        fmt::format("TensorFlow has no type {}", dtype_name(tensor.dtype())));
  if (tensor.dtype() == DType::kString) return copy_strings(tensor);
  return tensor.buffer() && tensor.num_bytes() > 0 && is_aligned(tensor.bytes().data())
             ? share(tensor)
             : copy_numbers(tensor);
}

Tensor from_tensorflow(TensorPtr tensor, Sharing sharing) {
  const auto number = static_cast<int32_t>(TF_TensorType(tensor.get()));
  const DType dtype = is_valid_dtype(number) ? static_cast<DType>(number) : DType::kInvalid;
  if (dtype == DType::kString) return strings_of(tensor.get());
  if (element_size(dtype) == 0)
    throw UnimplementedError(
        fmt::format("a tensor of TensorFlow's type {} ({}) cannot leave TensorFlow", number,
                    dtype_name(dtype)));
  Shape shape = shape_of(tensor.get());
  const size_t num_bytes = TF_TensorByteSize(tensor.get());
  if (num_bytes != Tensor::num_bytes(dtype, shape))
    throw InternalError(fmt::format("TensorFlow gave {} bytes for {} {}", num_bytes, dtype, shape));
  const auto* const data = static_cast<const std::byte*>(TF_TensorData(tensor.get()));
  // Our tensors guarantee alignment, but TensorFlow's slices may start at any offset.
  if (num_bytes <= Tensor::kInlineBytes || sharing == Sharing::kCopy || !is_aligned(data)) {
    Tensor copy(dtype, std::move(shape));
    if (num_bytes > 0) std::memcpy(copy.writable_bytes().data(), data, num_bytes);
    return copy;
  }
  const auto release = [](void* held) noexcept { TF_DeleteTensor(static_cast<TF_Tensor*>(held)); };
  Buffer buffer = Buffer::borrow({data, num_bytes}, release, tensor.get());
  static_cast<void>(tensor.release());  // Now owned by the buffer.
  return Tensor::from_buffer(dtype, std::move(shape), std::move(buffer));
}

}  // namespace crochet::inline v0::tensorflow::internal
