// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/attribute_setter.h"

#include <limits>

#include <protozero/pbf_writer.hpp>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/internal/graph_def_fields.h"
#include "crochet/engines/tensorflow/internal/status.h"
#include "crochet/engines/tensorflow/internal/tensor_conversion.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

// A graph is a protobuf message, which ends at 2 GiB.
constexpr size_t kLargestTensorBytes = std::numeric_limits<int32_t>::max() - (size_t{1} << 20);

int size_of(const auto& values) { return static_cast<int>(values.size()); }

// Passes each kind of value to TensorFlow.
class Setter {
 public:
  Setter(TF_OperationDescription* description, const char* name, const std::string& what)
      : description_(description), name_(name), what_(what) {}

  void operator()(int64_t value) { TF_SetAttrInt(description_, name_, value); }
  void operator()(float value) { TF_SetAttrFloat(description_, name_, value); }
  void operator()(bool value) { TF_SetAttrBool(description_, name_, value ? 1 : 0); }
  void operator()(const std::string& value) {
    TF_SetAttrString(description_, name_, value.data(), value.size());
  }
  void operator()(DType value) { TF_SetAttrType(description_, name_, checked(value)); }
  void operator()(const Attribute::PartialShape& value) {
    TF_SetAttrShape(description_, name_, dimensions(value), rank(value));
  }
  void operator()(const Tensor& value) {
    const TensorPtr tensor = checked(value);
    Status status;
    TF_SetAttrTensor(description_, name_, tensor.get(), status.get());
    status.check(what_);
  }
  void operator()(const Function& value) {
    TF_SetAttrFuncName(description_, name_, value.name().data(), value.name().size());
  }

  void operator()(const std::vector<int64_t>& values) {
    TF_SetAttrIntList(description_, name_, values.data(), size_of(values));
  }
  void operator()(const std::vector<float>& values) {
    TF_SetAttrFloatList(description_, name_, values.data(), size_of(values));
  }
  void operator()(const std::vector<bool>& values) {
    const std::vector<unsigned char> bytes(values.begin(), values.end());
    TF_SetAttrBoolList(description_, name_, bytes.data(), size_of(bytes));
  }
  void operator()(const std::vector<std::string>& values) {
    std::vector<const void*> data;
    std::vector<size_t> sizes;
    for (const std::string& value : values) {
      data.push_back(value.data());
      sizes.push_back(value.size());
    }
    TF_SetAttrStringList(description_, name_, data.data(), sizes.data(), size_of(values));
  }
  void operator()(const std::vector<DType>& values) {
    std::vector<TF_DataType> types;
    for (const DType value : values) types.push_back(checked(value));
    TF_SetAttrTypeList(description_, name_, types.data(), size_of(types));
  }
  void operator()(const std::vector<Attribute::PartialShape>& values) {
    std::vector<const int64_t*> all_dimensions;
    std::vector<int> ranks;
    for (const Attribute::PartialShape& value : values) {
      all_dimensions.push_back(dimensions(value));
      ranks.push_back(rank(value));
    }
    TF_SetAttrShapeList(description_, name_, all_dimensions.data(), ranks.data(), size_of(ranks));
  }
  void operator()(const std::vector<Tensor>& values) {
    std::vector<TensorPtr> tensors;
    std::vector<TF_Tensor*> pointers;
    for (const Tensor& value : values) {
      tensors.push_back(checked(value));
      pointers.push_back(tensors.back().get());
    }
    Status status;
    TF_SetAttrTensorList(description_, name_, pointers.data(), size_of(pointers), status.get());
    status.check(what_);
  }
  // The C API has a function for every kind of list except this one.
  void operator()(const std::vector<Function>& values) {
    std::string bytes;
    {
      protozero::pbf_writer attribute(bytes);
      protozero::pbf_writer list(attribute, kAttrList);
      for (const Function& value : values) {
        protozero::pbf_writer function(list, kListFunc);
        function.add_string(kFuncName, value.name());
      }
    }
    Status status;
    TF_SetAttrValueProto(description_, name_, bytes.data(), bytes.size(), status.get());
    status.check(what_);
  }

 private:
  TF_DataType checked(DType type) const {
    if (!is_valid_dtype(static_cast<int32_t>(type)))
      throw InvalidArgumentError(
          fmt::format("{}: {} is not a type", what_, static_cast<int32_t>(type)));
    return static_cast<TF_DataType>(type);
  }
  TensorPtr checked(const Tensor& tensor) const {
    if (!tensor.is_set()) throw InvalidArgumentError(fmt::format("{}: the tensor is unset", what_));
    if (tensor.num_bytes() > kLargestTensorBytes)
      throw InvalidArgumentError(fmt::format(
          "{}: {} bytes are more than a graph can hold, {}: feed them, or assign them to a "
          "variable",
          what_, tensor.num_bytes(), kLargestTensorBytes));
    return to_tensorflow(tensor);
  }
  // TensorFlow aborts the process if a shape has more.
  int rank(const Attribute::PartialShape& shape) const {
    if (!shape) return -1;
    if (shape->rank() > kMaxRank)
      throw InvalidArgumentError(
          fmt::format("{}: found a shape of {} dimensions, expected at most {}", what_,
                      shape->rank(), kMaxRank));
    return shape->rank();
  }
  static const int64_t* dimensions(const Attribute::PartialShape& shape) {
    return shape ? shape->dimensions().data() : nullptr;
  }

  TF_OperationDescription* description_;
  const char* name_;
  const std::string& what_;
};

}  // namespace

void set_attribute(TF_OperationDescription* description, const char* name, const Attribute& value,
                   const std::string& what) {
  std::visit(Setter(description, name, what), value.value());
}

}  // namespace crochet::inline v0::tensorflow::internal
