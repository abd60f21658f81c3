// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/builder/graph_builder.h"
#include "crochet/engines/tensorflow/internal/c_api.h"
#include "crochet/engines/tensorflow/internal/proto_reader.h"

namespace crochet::tensorflow {
namespace {

using internal::bytes_field;
using internal::ProtoReader;

// The part of an OpDef that is needed to describe an operation.
struct OperationType {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;  // Required ones, with types.
};

// Appends the attributes that follow from an input, from its ArgDef.
void append_inferred(ProtoReader argument, std::vector<std::string>& names) {
  argument.for_each_field([&](uint32_t field, ProtoReader& value) {
    if (field != bytes_field(4) && field != bytes_field(5) && field != bytes_field(6)) return false;
    names.push_back(value.text());
    return true;
  });
}

OperationType read_type(ProtoReader definition) {
  OperationType type;
  std::vector<std::string> inferred;
  definition.for_each_field([&](uint32_t field, ProtoReader& value) {
    if (field == bytes_field(1)) {
      type.name = value.text();
    } else if (field == bytes_field(2)) {
      append_inferred(value.message("input_arg"), inferred);
    } else if (field == bytes_field(4)) {
      std::pair<std::string, std::string> attribute;
      bool has_default = false;
      value.message("attr").for_each_field([&](uint32_t inner, ProtoReader& part) {
        if (inner == bytes_field(1))
          attribute.first = part.text();
        else if (inner == bytes_field(2))
          attribute.second = part.text();
        else
          return inner == bytes_field(3) ? (has_default = true, false) : false;
        return true;
      });
      if (!has_default) type.attributes.push_back(attribute);
    } else {
      return false;
    }
    return true;
  });
  std::erase_if(type.attributes, [&](const auto& attribute) {
    return std::ranges::find(inferred, attribute.first) != inferred.end();
  });
  return type;
}

// All types of TensorFlow, including its internal ones.
std::vector<OperationType> all_types() {
  std::vector<OperationType> types;
  const internal::BufferPtr list(TF_GetAllOpList());
  ProtoReader(internal::view_of(*list), "types")
      .for_each_field([&](uint32_t field, ProtoReader& value) {
        if (field != bytes_field(1)) return false;
        types.push_back(read_type(value.message("op")));
        return true;
      });
  return types;
}

// A value for each attribute.
Attributes attributes_for(const OperationType& type, int64_t number, const Function& function) {
  Attributes result;
  for (const auto& [name, kind] : type.attributes) {
    if (kind == "type") result.emplace(name, DType::kFloat);
    if (kind == "int") result.emplace(name, number);
    if (kind == "bool") result.emplace(name, true);
    if (kind == "float") result.emplace(name, static_cast<float>(number));
    if (kind == "string") result.emplace(name, "x");
    if (kind == "shape") result.emplace(name, Shape{2, -1});
    if (kind == "tensor") result.emplace(name, Tensor::scalar(1.0f));
    if (kind == "func") result.emplace(name, function);
    if (kind == "list(func)") result.emplace(name, std::vector{function, function});
    if (kind == "list(type)") result.emplace(name, std::vector{DType::kFloat, DType::kString});
    if (kind == "list(int)") result.emplace(name, std::vector{number, number, -number, number});
    if (kind == "list(float)") result.emplace(name, std::vector{1.0f});
    if (kind == "list(string)") result.emplace(name, std::vector<std::string>{"x", ""});
    if (kind == "list(shape)") result.emplace(name, std::vector<Shape>{Shape{2}, Shape{-1}});
  }
  return result;
}

// Adds operations of each type with up to `max_inputs` of these inputs, or gets a typed error.
// Returns the number of added operations.
int add_all(const std::vector<OperationType>& types, const Tensor& value, int max_inputs,
            bool as_list, int64_t number) {
  Graph graph;
  GraphBuilder build(graph);
  const Function function = build.function("function", {{"x", value.dtype()}},
                                           [](auto&, const auto& in) { return in[0]; });
  const OpInput input(build.constant("value", value));
  const OpInput list = {input, input};
  int num_added = 0;
  for (const OperationType& type : types)
    for (int num_inputs = 0; num_inputs <= max_inputs; ++num_inputs) {
      std::vector<OpInput> inputs(static_cast<size_t>(num_inputs), input);
      if (as_list && num_inputs > 0) inputs.front() = list;
      try {
        build.op(type.name, fmt::format("of{}/{}", type.name, num_inputs), inputs,
                 attributes_for(type, number, function));
        ++num_added;
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("operation \"")) << type.name;
      }
    }
  return num_added;
}

// If TensorFlow's own checks of shapes and types abort the process, this test does, too.
TEST(OperationTypesTest, AreAllAcceptedOrRejected) {
  const std::vector<OperationType> types = all_types();
  ASSERT_GT(types.size(), 1000);
  constexpr int kMaxInputs = 5;
  const std::vector<Tensor> values = {Tensor::scalar(1.0f),
                                      Tensor::scalar(int32_t{-1}),
                                      Tensor::scalar(int64_t{1} << 62),
                                      Tensor::scalar(std::string("x")),
                                      Tensor::scalar(true),
                                      Tensor::from(std::vector{-1, 0, 1 << 30}),
                                      Tensor::from(std::vector<int64_t>{int64_t{1} << 62, 4}),
                                      Tensor::zeros<float>({0, 3}),
                                      Tensor::zeros<float>({2, 3, 4, 5})};
  int num_added = 0;
  for (const Tensor& value : values)
    for (const bool as_list : {false, true})
      num_added += add_all(types, value, kMaxInputs, as_list, as_list ? 1 : -1);
  EXPECT_GT(num_added, 1000);
}

}  // namespace
}  // namespace crochet::tensorflow
