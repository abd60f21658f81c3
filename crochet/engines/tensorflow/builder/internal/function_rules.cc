// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/builder/internal/function_rules.h"

#include <array>
#include <string_view>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

constexpr const char* kOutputTypes = "Tout";

// The results that a function must return.
enum class Gives {
  kOutputs,  // The operation's outputs.
  kInputs,   // The same types as its inputs.
  kOne,      // One value.
};

// How an operation uses a function: it calls the function with one of its inputs, a list.
struct Role {
  std::string_view type;
  const char* attribute;
  size_t input;
  Gives gives;
};

constexpr std::array<Role, 13> kRoles = {{{"If", "then_branch", 1, Gives::kOutputs},
                                          {"If", "else_branch", 1, Gives::kOutputs},
                                          {"StatelessIf", "then_branch", 1, Gives::kOutputs},
                                          {"StatelessIf", "else_branch", 1, Gives::kOutputs},
                                          {"Case", "branches", 1, Gives::kOutputs},
                                          {"StatelessCase", "branches", 1, Gives::kOutputs},
                                          {"While", "cond", 0, Gives::kOne},
                                          {"While", "body", 0, Gives::kInputs},
                                          {"StatelessWhile", "cond", 0, Gives::kOne},
                                          {"StatelessWhile", "body", 0, Gives::kInputs},
                                          {"PartitionedCall", "f", 0, Gives::kOutputs},
                                          {"StatefulPartitionedCall", "f", 0, Gives::kOutputs},
                                          {"RemoteCall", "f", 1, Gives::kOutputs}}};

std::vector<Function> functions_of(const Attribute& attribute) {
  if (const auto* const one = std::get_if<Function>(&attribute.value())) return {*one};
  if (const auto* const list = std::get_if<std::vector<Function>>(&attribute.value())) return *list;
  return {};
}

std::vector<DType> types_of(const std::vector<TF_Output>& values) {
  std::vector<DType> types;
  for (const TF_Output& value : values)
    types.push_back(static_cast<DType>(type_number(value) % kReferenceTypes));
  return types;
}

std::string text_of(const std::vector<DType>& types) {
  return fmt::format("({})", fmt::join(types, ", "));
}

// The types that all functions that compute the outputs must return. Null if TensorFlow checks
// them.
const std::vector<DType>* output_types(const Function& first, Attributes& attributes) {
  const auto [types, added] = attributes.try_emplace(kOutputTypes, first.output_types());
  return std::get_if<std::vector<DType>>(&types->second.value());
}

void check(const std::string& what, const Function& function, const std::vector<DType>& taken,
           const std::vector<DType>* given) {
  const bool gives_them =
      given == nullptr ? function.output_types().size() == 1 : function.output_types() == *given;
  if (function.input_types() == taken && gives_them) return;
  throw InvalidArgumentError(fmt::format(
      "{}: the function \"{}\" takes {} and returns {}, expected {} and {}", what, function.name(),
      text_of(function.input_types()), text_of(function.output_types()), text_of(taken),
      given == nullptr ? "one value" : text_of(*given)));
}

}  // namespace

std::vector<Function> functions_in(const Attributes& attributes) {
  std::vector<Function> all;
  for (const auto& [name, attribute] : attributes)
    for (const Function& function : functions_of(attribute)) all.push_back(function);
  return all;
}

void apply_function_rules(const std::string& type, const std::string& name,
                          const std::vector<std::vector<TF_Output>>& inputs,
                          Attributes& attributes) {
  for (const Role& role : kRoles) {
    const auto given = attributes.find(role.attribute);
    if (role.type != type || given == attributes.end() || role.input >= inputs.size()) continue;
    const std::vector<DType> taken = types_of(inputs[role.input]);
    const std::string what =
        fmt::format("operation \"{}\": attribute \"{}\" of {}", name, role.attribute, type);
    for (const Function& function : functions_of(given->second)) {
      if (role.gives == Gives::kOutputs) {
        if (const auto* const types = output_types(function, attributes))
          check(what, function, taken, types);
      } else {
        check(what, function, taken, role.gives == Gives::kInputs ? &taken : nullptr);
      }
    }
  }
}

}  // namespace crochet::inline v0::tensorflow::internal
