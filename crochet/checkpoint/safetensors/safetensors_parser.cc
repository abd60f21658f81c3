// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Parses untrusted headers of safetensors files.
#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/parse_json.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_format.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {
namespace {

// TensorFlow's limit; no array library has more.
constexpr size_t kMaxRank = 254;

// The fields of one tensor in the header; each must occur once.
struct RawTensor {
  std::string name;
  std::optional<std::string> dtype;
  bool has_shape = false;
  bool has_offsets = false;
  std::vector<uint64_t> shape;
  std::vector<uint64_t> data_offsets;

  // Resets it to a tensor with only a name; keeps its memory.
  void begin(std::string&& new_name) {
    name = std::move(new_name);
    dtype.reset();
    has_shape = has_offsets = false;
    shape.clear();
    data_offsets.clear();
  }
};

// The size of all elements in bits; unset if it is beyond 63 bits.
std::optional<uint64_t> num_bits(std::span<const uint64_t> shape, const SafetensorsType& type) {
  uint64_t result = type.bits;
  for (const uint64_t size : shape)
    if (__builtin_mul_overflow(result, size, &result)) return std::nullopt;
  return result <= std::numeric_limits<int64_t>::max() ? std::optional(result) : std::nullopt;
}

Shape checked_shape(const RawTensor& raw, std::string_view document) {
  try {
    std::vector<int64_t> dimensions;
    for (const uint64_t size : raw.shape) {
      if (size > std::numeric_limits<int64_t>::max())
        throw InvalidArgumentError("a size is beyond 2^63 - 1");
      dimensions.push_back(static_cast<int64_t>(size));
    }
    return Shape(dimensions);
  } catch (const InvalidArgumentError& error) {
    throw DataLossError(fmt::format("{}: {} has the shape [{}]: {}", document, shown(raw.name),
                                    fmt::join(raw.shape, ","), error.what()));
  }
}

void check_size(const SafetensorsTensor& tensor, const RawTensor& raw, std::string_view document) {
  if (tensor.type == nullptr) {
    if (tensor.begin > tensor.end)
      throw DataLossError(fmt::format("{}: {} has data_offsets [{},{}]", document, shown(raw.name),
                                      tensor.begin, tensor.end));
    return;
  }
  const std::optional<uint64_t> bits = num_bits(raw.shape, *tensor.type);
  if (!bits || *bits % 8 != 0)
    throw DataLossError(fmt::format("{}: {} is {} {}: {}", document, shown(raw.name),
                                    tensor.type->name, tensor.shape,
                                    bits ? "not whole bytes" : "too large"));
  if (tensor.begin > tensor.end || tensor.end - tensor.begin != *bits / 8)
    throw DataLossError(fmt::format("{}: {} has data_offsets [{},{}], but its {} {} takes {} bytes",
                                    document, shown(raw.name), tensor.begin, tensor.end,
                                    tensor.type->name, tensor.shape, *bits / 8));
}

SafetensorsTensor checked_tensor(RawTensor& raw, std::string_view document) {
  if (!raw.dtype || !raw.has_shape || raw.data_offsets.size() != 2)
    throw DataLossError(fmt::format("{}: {} lacks {}", document, shown(raw.name),
                                    !raw.dtype       ? "its dtype"
                                    : !raw.has_shape ? "its shape"
                                                     : "its two data_offsets"));
  SafetensorsTensor tensor{.name = {},
                           .type = find_safetensors_type(*raw.dtype),
                           .shape = checked_shape(raw, document),
                           .begin = raw.data_offsets.front(),
                           .end = raw.data_offsets.back()};
  if (tensor.type == nullptr) tensor.unknown_type = *std::move(raw.dtype);
  check_size(tensor, raw, document);
  tensor.name = std::move(raw.name);
  return tensor;
}

// Receives the header's parts in order. Each state allows certain parts next; anything else is an
// error at once, so that nesting and memory are bounded by the header's bytes.
class HeaderHandler final : public JsonHandler {
 public:
  explicit HeaderHandler(std::string_view document) : JsonHandler(document) {}

  std::vector<SafetensorsTensor> tensors;
  std::optional<std::map<std::string, std::string, std::less<>>> metadata;

  bool null() override {
    // As if it were not there.
    if (place_ != Place::kMetadataObject) return ignored("null");
    metadata.emplace();
    place_ = Place::kHeader;
    return true;
  }
  bool boolean(bool) override { return ignored("true or false"); }
  bool number_integer(int64_t value) override {
    return ignored(fmt::format("the number {}", value));
  }
  bool number_float(double, const std::string& text) override {
    return ignored(fmt::format("the number {}", shown(text)));
  }

  bool number_unsigned(uint64_t value) override {
    if (place_ == Place::kOther) return end_other();
    if (place_ != Place::kNumbers) fail(fmt::format("the number {}", value));
    if (numbers_->size() == max_numbers_)
      throw DataLossError(
          fmt::format("{}: {} has more than {} numbers", document(), where(), max_numbers_));
    numbers_->push_back(value);
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::kOther) return end_other();
    if (place_ == Place::kMetadata) {
      if (!metadata->emplace(key_, std::move(value)).second) fail_twice(key_);
      return true;
    }
    if (place_ != Place::kDtype) fail(fmt::format("the string {}", shown(value)));
    tensor_.dtype = std::move(value);
    place_ = Place::kTensor;
    return true;
  }

  bool start_object(size_t) override {
    if (place_ == Place::kOther) {
      ++other_depth_;
    } else if (place_ == Place::kOutside) {
      place_ = Place::kHeader;
    } else if (place_ == Place::kMetadataObject) {
      metadata.emplace();
      place_ = Place::kMetadata;
    } else if (place_ == Place::kTensorObject) {
      place_ = Place::kTensor;
    } else {
      fail("an object");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kOther) return end_nested_other();
    if (place_ == Place::kTensor) tensors.push_back(checked_tensor(tensor_, document()));
    place_ = place_ == Place::kHeader ? Place::kOutside : Place::kHeader;
    return true;
  }

  bool start_array(size_t) override {
    if (place_ == Place::kOther) return ++other_depth_ > 0;
    if (place_ != Place::kNumbersArray) fail("an array");
    place_ = Place::kNumbers;
    return true;
  }

  bool end_array() override {
    if (place_ == Place::kOther) return end_nested_other();
    place_ = Place::kTensor;
    return true;
  }

  bool key(std::string& name) override {
    if (place_ == Place::kOther) return true;
    if (place_ == Place::kMetadata) {
      key_ = std::move(name);
    } else if (place_ == Place::kTensor) {
      begin_field(name);
    } else if (name == "__metadata__") {
      if (metadata) fail_twice(name);
      place_ = Place::kMetadataObject;
    } else {
      tensor_.begin(std::move(name));
      has_tensor_ = true;
      place_ = Place::kTensorObject;
    }
    return true;
  }

 private:
  // The context of the next part.
  enum class Place {
    kOutside,
    kHeader,
    kMetadataObject,  // To come.
    kMetadata,
    kTensorObject,  // To come.
    kTensor,
    kDtype,
    kNumbersArray,  // To come.
    kNumbers,
    kOther,  // In the value of an unknown field of a tensor, or before it.
  };

  // A value of an unknown field. It ends there, or else the container does that it is in.
  bool end_other() {
    if (other_depth_ == 0) place_ = Place::kTensor;
    return true;
  }
  bool end_nested_other() {
    --other_depth_;
    return end_other();
  }
  bool ignored(std::string_view found) {
    if (place_ != Place::kOther) fail(found);
    return end_other();
  }

  void begin_field(const std::string& name) {
    if (name == "dtype") {
      if (tensor_.dtype) fail_twice(name);
      place_ = Place::kDtype;
    } else if (name == "shape") {
      begin_numbers(name, tensor_.has_shape, tensor_.shape, kMaxRank);
    } else if (name == "data_offsets") {
      begin_numbers(name, tensor_.has_offsets, tensor_.data_offsets, 2);
    } else {
      place_ = Place::kOther;
    }
  }

  void begin_numbers(const std::string& name, bool& is_there, std::vector<uint64_t>& field,
                     size_t max_numbers) {
    if (is_there) fail_twice(name);
    is_there = true;
    numbers_ = &field;
    max_numbers_ = max_numbers;
    place_ = Place::kNumbersArray;
  }

  const char* expected() const {
    switch (place_) {
      case Place::kMetadata:
        return "a string";
      case Place::kDtype:
        return "a string: the dtype";
      case Place::kNumbersArray:
        return "an array of numbers";
      case Place::kNumbers:
        return "a number from 0 to 2^64 - 1";
      default:
        return "an object";
    }
  }

  std::string where() const {
    const bool in_metadata = place_ == Place::kMetadata || place_ == Place::kMetadataObject;
    if (in_metadata) return "__metadata__";
    return has_tensor_ ? shown(tensor_.name) : "the whole";
  }

  [[noreturn]] void fail(std::string_view found) const {
    throw DataLossError(
        fmt::format("{}: {} has {}, expected {}", document(), where(), found, expected()));
  }
  [[noreturn]] void fail_twice(std::string_view key) const {
    throw DataLossError(fmt::format("{}: {} has {} twice", document(), where(), shown(key)));
  }

  Place place_ = Place::kOutside;
  std::string key_;  // Of the metadata, the last one.
  bool has_tensor_ = false;
  RawTensor tensor_;                          // The last one.
  std::vector<uint64_t>* numbers_ = nullptr;  // Its list being read.
  size_t max_numbers_ = 0;
  size_t other_depth_ = 0;  // Of containers in the value of an unknown field.
};

// Checks that each tensor begins where the previous one ends, and the last one ends with the file.
void check_cover(const std::vector<SafetensorsTensor>& tensors, uint64_t data_bytes,
                 std::string_view file) {
  std::vector<const SafetensorsTensor*> in_file;
  for (const SafetensorsTensor& tensor : tensors) in_file.push_back(&tensor);
  std::ranges::sort(in_file, [](const SafetensorsTensor* a, const SafetensorsTensor* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  uint64_t end = 0;
  for (const SafetensorsTensor* const tensor : in_file) {
    if (tensor->begin != end)
      throw DataLossError(fmt::format(
          "{}: header: {} begins at offset {} of the data, expected {}: {}", file,
          shown(tensor->name), tensor->begin, end, tensor->begin < end ? "an overlap" : "a hole"));
    end = tensor->end;
  }
  if (end != data_bytes)
    throw DataLossError(fmt::format(
        "{}: the header describes {} bytes of data, but the file has {}", file, end, data_bytes));
}

void check_names(const std::vector<SafetensorsTensor>& tensors, std::string_view file) {
  std::vector<std::string_view> names;
  for (const SafetensorsTensor& tensor : tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end())
    throw DataLossError(fmt::format("{}: header: {} occurs twice", file, shown(*twice)));
}

}  // namespace

SafetensorsHeader decode_safetensors_header(std::string_view text, uint64_t data_bytes,
                                            std::string_view file) {
  if (const size_t first = text.find_first_not_of(" \t\r\n");
      first == std::string_view::npos || text[first] != '{')
    throw DataLossError(fmt::format("{}: the header does not start with an opening brace", file));
  const std::string document = fmt::format("{}: header", file);
  HeaderHandler handler(document);
  parse_json(text, handler);
  SafetensorsHeader header;
  header.tensors = std::move(handler.tensors);
  check_names(header.tensors, file);
  check_cover(header.tensors, data_bytes, file);
  if (handler.metadata) header.metadata = *std::move(handler.metadata);
  return header;
}

}  // namespace crochet::inline v0::internal
