// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/tensor/dtype.h"
#include "crochet/tensor/internal/value_traits.h"
#include "crochet/tensor/shape.h"

namespace crochet::inline v0 {

// All memory that tensors allocate starts at a multiple of this: vectorised sums depend on
// alignment, and a resumed run must be bit-exact.
inline constexpr size_t kBufferAlignment = 64;

// Memory of at least this size is aligned to a page of 4096 bytes: disks read and write it without
// a copy.
inline constexpr size_t kPageAlignedBytes = size_t{1} << 20;

// Shared memory of fixed size, for bytes or for objects that are destroyed with it. The reference
// count is intrusive because is_unique() must happen after everything that former holders did with
// the bytes, which std::shared_ptr::use_count does not guarantee.
//
// Large memory uses huge pages where the system has them: its first use, with page faults, is then
// several times as fast. Allocating memory of kPageAlignedBytes and more touches none of its pages,
// so this first use is on the thread that fills it.
//
// A buffer can also refer to borrowed memory, which belongs to another owner and is only read: such
// a buffer is never unique, so a writer makes a copy first.
class CROCHET_EXPORT Buffer {
 public:
  Buffer() = default;
  // Uninitialised memory. Throws: ResourceExhaustedError with the size if there is not enough.
  // `destroy`, unless null, is called with the memory and its size before it is freed.
  using Destroy = void (*)(std::byte* data, size_t size) noexcept;
  explicit Buffer(size_t num_bytes, Destroy destroy = nullptr);
  // Borrowed memory. `release` is called with `context`, on the thread of the last holder, when
  // that releases it. Throws: ResourceExhaustedError, without calling `release`.
  using Release = void (*)(void* context) noexcept;
  static Buffer borrow(std::span<const std::byte> bytes, Release release, void* context);
  Buffer(const Buffer& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) share();
  }
  Buffer(Buffer&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Buffer() {
    if (block_ != nullptr) release();
  }

  explicit operator bool() const { return block_ != nullptr; }
  size_t size() const;
  const std::byte* data() const;
  // The address for writing, which the caller may keep: from now on the memory is exposed, and has
  // no version. Requires: the memory is not borrowed, and no other holder reads or writes
  // meanwhile.
  std::byte* mutable_data();
  // The same for a writer that forgets the address once it has written, such as an engine or a
  // reader of files: the memory gets another version. Requires: as mutable_data().
  std::byte* writable_data();
  // True if the address was handed out for writing, so that something may write to the memory at
  // any time.
  bool is_exposed() const noexcept;
  // True if this Buffer owns its memory and is its only holder. Accesses by former holders
  // happened before.
  bool is_unique() const noexcept;
  // Another number after each writable_data(), which no other buffer of this process ever has: the
  // same number means the same bytes. 0 if something unknown may write to them: for exposed and for
  // borrowed memory; and for an unset buffer.
  uint64_t version() const noexcept;

 private:
  struct Block;
  explicit Buffer(Block* block) : block_(block) {}
  // Add and remove a holder. Require: set.
  void share() noexcept;
  void release() noexcept;

  Block* block_ = nullptr;
};

// The memory owned by all buffers of this process. Thread-safe.
struct BufferUsage {
  size_t num_bytes = 0;       // Current.
  size_t peak_num_bytes = 0;  // Maximum since the last reset_peak_buffer_usage().
};
CROCHET_EXPORT BufferUsage buffer_usage();
CROCHET_EXPORT void reset_peak_buffer_usage();

// A dense, row-major array of numbers or strings with a type and a shape. Copying shares
// the memory; writing through one holder copies it first if there are other
// holders, so a copy never changes.
//
// A default-constructed tensor is unset: it has the type kInvalid and no
// elements. A value that was not computed is unset.
//
// Strings can be elements, too, but have no contiguous bytes: use strings()
// instead of flat().
//
//   const Tensor tags = Tensor::from({"cat", "dog"});
//   fmt::print("{}\n", tags.strings()[1]);
//
// Values of at most kInlineBytes bytes are stored in the object: scalars need no allocation.
// Functions that return a view of the elements do not compile for a temporary, since the view would
// dangle.
//
// As thread-safe as a plain value: many readers, or one writer.
class CROCHET_EXPORT Tensor {
 public:
  static constexpr size_t kInlineBytes = 16;

  Tensor() = default;
  // Elements are uninitialised; for strings, use from(). Throws: InvalidArgumentError for a type
  // without a fixed size or a shape with unknown sizes; ResourceExhaustedError if out of memory.
  Tensor(DType dtype, Shape shape);

  template <Element T>
  static Tensor zeros(Shape shape) {
    Tensor tensor(dtype_of<T>, std::move(shape));
    if (tensor.num_bytes() > 0) std::memset(tensor.writable_bytes().data(), 0, tensor.num_bytes());
    return tensor;
  }
  template <Element T>
  static Tensor scalar(T value) {
    static_assert(sizeof(T) <= kInlineBytes);
    Tensor tensor;
    tensor.dtype_ = dtype_of<T>;
    std::memcpy(tensor.inline_, &value, sizeof(T));
    return tensor;
  }
  // Throws: InvalidArgumentError if the number of values does not match the shape.
  template <Element T>
  static Tensor from(std::span<const T> values, Shape shape) {
    return copy_of(dtype_of<T>, std::move(shape), std::as_bytes(values));
  }
  template <Element T>
  static Tensor from(const std::vector<T>& values) {
    return from(std::span<const T>(values), Shape{static_cast<int64_t>(values.size())});
  }
  template <Element T>
  static Tensor from(const std::vector<T>& values, Shape shape) {
    return from(std::span<const T>(values), std::move(shape));
  }

  // Uses the bytes in `buffer` without a copy. Throws: InvalidArgumentError as the constructor, and
  // if the size of the buffer does not match the elements.
  static Tensor from_buffer(DType dtype, Shape shape, Buffer buffer);
  // The same, but the elements are in the buffer even if they are few, so that it may be filled
  // later. Throws: as from_buffer().
  static Tensor over_buffer(DType dtype, Shape shape, Buffer buffer);

  // A tensor of type kString. Throws: as from() for numbers.
  static Tensor from(std::vector<std::string> strings, Shape shape);
  static Tensor from(std::vector<std::string> strings);
  static Tensor scalar(std::string value);

  // Makes it unset.
  void reset() {
    dtype_ = DType::kInvalid;
    shape_ = Shape();
    if (buffer_) buffer_ = Buffer();
  }

  bool is_set() const { return dtype_ != DType::kInvalid; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const& { return shape_; }
  Shape shape() && { return std::move(shape_); }
  int64_t num_elements() const { return is_set() ? shape_.num_elements() : 0; }
  // The size of all elements; for strings, of their characters.
  size_t num_bytes() const {
    return dtype_ == DType::kString ? num_characters()
                                    : static_cast<size_t>(num_elements()) * element_size(dtype_);
  }

  // The size of the elements of such a tensor. Throws: as the constructor.
  static size_t num_bytes(DType dtype, const Shape& shape);

  // True if the memory has other holders, so that writing would copy it first.
  bool is_shared() const { return buffer_ && !buffer_.is_unique(); }
  // The elements' memory; unset if they are in the object, or strings.
  const Buffer& buffer() const& { return buffer_; }
  Buffer buffer() && { return std::move(buffer_); }
  // Buffer::version() of the memory: the same number means the same elements. 0 for elements stored
  // in the object, and if something unknown may write to them.
  uint64_t version() const { return buffer_.version(); }
  // The elements' memory, kBufferAlignment-aligned unless inline or borrowed, as by
  // crochet/tensor/dlpack.h.
  // Throws: InvalidArgumentError for strings.
  std::span<const std::byte> bytes() const&;
  std::span<const std::byte> bytes() const&& = delete;
  // The same for writing; copies first if the memory is shared or borrowed. As the span may be kept
  // and written to at any time, the memory counts as exposed from now on: see Buffer::is_exposed().
  // Throws: as bytes().
  std::span<std::byte> mutable_bytes() &;
  // The same for a writer that forgets the span once it has written: the memory is not exposed.
  std::span<std::byte> writable_bytes() &;

  // The elements in row-major order. Throws: InvalidArgumentError for another type, and for a bool
  // whose byte is neither 0 nor 1, as a file or another library may contain: reading it as a bool
  // would be undefined behaviour.
  template <Element T>
  std::span<const T> flat() const& {
    check_dtype(dtype_of<T>);
    if constexpr (std::is_same_v<T, bool>) check_bools();
    return {reinterpret_cast<const T*>(bytes().data()), static_cast<size_t>(num_elements())};
  }
  template <Element T>
  std::span<const T> flat() const&& = delete;
  // The same for writing; bools are not checked.
  template <Element T>
  std::span<T> mutable_flat() & {
    check_dtype(dtype_of<T>);
    return {reinterpret_cast<T*>(mutable_bytes().data()), static_cast<size_t>(num_elements())};
  }
  // The same for a writer that forgets the span once it has written, as writable_bytes().
  template <Element T>
  std::span<T> writable_flat() & {
    check_dtype(dtype_of<T>);
    return {reinterpret_cast<T*>(writable_bytes().data()), static_cast<size_t>(num_elements())};
  }
  // The elements of a string tensor, and the same for writing. Throws: InvalidArgumentError
  // for another type.
  std::span<const std::string> strings() const&;
  std::span<const std::string> strings() const&& = delete;
  std::span<std::string> mutable_strings() &;

  // The value of a tensor of exactly one element. Throws: InvalidArgumentError
  // for another type or number of elements, and for a bool as flat() does.
  template <Element T>
  T scalar() const {
    if (dtype_ == dtype_of<T> && shape_.rank() == 0 && !std::is_same_v<T, bool>) return single<T>();
    check_single();
    return flat<T>()[0];
  }
  // The same without checks. Requires: this type, one element.
  template <Element T>
  T single() const {
    if (buffer_) return flat<T>()[0];
    if constexpr (std::is_same_v<T, bool>) return inline_[0] != std::byte{};
    T value;
    std::memcpy(&value, inline_, sizeof(T));
    return value;
  }
  // The same for writing.
  template <Element T>
  T& mutable_single() & {
    return buffer_ ? mutable_flat<T>()[0] : *reinterpret_cast<T*>(inline_);
  }
  // The value of a tensor of exactly one element of any real type, as a double; a bool is 1 unless
  // its byte is 0. Throws: as scalar(), except for invalid bools.
  double to_double() const;

  // True if both have the same type, shape and bytes, or strings.
  friend CROCHET_EXPORT bool operator==(const Tensor& a, const Tensor& b);

 private:
  static Tensor copy_of(DType dtype, Shape shape, std::span<const std::byte> values);
  size_t num_characters() const;
  void check_has_bytes() const;
  // Makes sure that nobody else holds the numbers. Throws: as mutable_bytes().
  void make_unique();
  void check_dtype(DType wanted) const;
  void check_single() const;
  void check_bools() const;

  DType dtype_ = DType::kInvalid;
  Shape shape_;
  Buffer buffer_;  // Unset if the elements are in inline_.
  alignas(16) std::byte inline_[kInlineBytes] = {};
};

// Named tensors, as saved and restored by Saveable objects.
using TensorMap = std::map<std::string, Tensor, std::less<>>;

// "float32 [64,128]", and the value of a tensor of one element: "int64 [] = 7",
// "string [] = \"cat\"" (only the start of a long string).
CROCHET_EXPORT std::string describe(const Tensor& tensor);

// Adapters for array libraries define `Tensor array_to_tensor(ToTensorTag, const Array&)` in
// namespace crochet.
struct ToTensorTag {};

// Converts the result of a user's callable to a tensor: a number, a string, a std::vector of
// either, a Tensor, an Eigen matrix (with <crochet/eigen.h>), or a std::optional of one of these;
// an empty optional gives an unset tensor.
template <typename T>
Tensor to_tensor(T&& value) {
  using Value = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<Value, Tensor>) {
    return std::forward<T>(value);
  } else if constexpr (internal::kIsOptional<Value>) {
    return value ? to_tensor(*std::forward<T>(value)) : Tensor();
  } else if constexpr (Element<Value>) {
    return Tensor::scalar(value);
  } else if constexpr (std::is_convertible_v<Value, std::string>) {
    return Tensor::scalar(std::string(std::forward<T>(value)));
  } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
    return Tensor::from(std::forward<T>(value));
  } else if constexpr (internal::kIsVectorOfNumbers<Value>) {
    return Tensor::from(value);
  } else if constexpr (requires { array_to_tensor(ToTensorTag{}, value); }) {
    return array_to_tensor(ToTensorTag{}, value);
  } else {
    static_assert(
        !sizeof(Value*),
        "crochet cannot make a tensor of this type: return a number, a string, a "
        "std::vector of one, a crochet::Tensor, or a std::optional of one; for Eigen's matrices "
        "include <crochet/eigen.h>");
  }
}

}  // namespace crochet::inline v0
