// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/builder/graph_builder.h"
#include "crochet/engines/tensorflow/builder/internal/function_rules.h"
#include "crochet/engines/tensorflow/internal/c_api.h"
#include "crochet/engines/tensorflow/internal/definitions.h"
#include "crochet/engines/tensorflow/internal/graph_def.h"
#include "crochet/engines/tensorflow/internal/graph_def_fields.h"
#include "crochet/engines/tensorflow/internal/status.h"

namespace crochet::inline v0::tensorflow {
namespace {

using internal::FunctionPtr;
using internal::functions_of;
using internal::is_letter;
using internal::message_at;
using internal::ProtoReader;
using internal::Status;

// Of FunctionDef: an OpDef.
constexpr uint32_t kFunctionSignature = 1;

constexpr int kAllOperations = -1;

void copy_function(const TF_Function* function, TF_Graph* to, const std::string& what) {
  Status status;
  TF_GraphCopyFunction(to, function, nullptr, status.get());
  status.check(what);
}

void copy_functions(TF_Graph* from, TF_Graph* to, const std::string& what) {
  for (const FunctionPtr& function : functions_of(from)) copy_function(function.get(), to, what);
}

FunctionInfo describe(TF_Function* function) {
  FunctionInfo info = {.name = TF_FunctionName(function), .input_types = {}, .output_types = {}};
  const internal::BufferPtr definition = internal::function_def(function);
  const auto add_to = [](std::vector<DType>& types) {
    return [&types](ProtoReader argument) {
      argument.read(internal::number_at(internal::kArgType, types.emplace_back()));
    };
  };
  ProtoReader(internal::view_of(*definition), info.name)
      .read(message_at(kFunctionSignature, "signature", [&](ProtoReader signature) {
        signature.read(message_at(internal::kOpInput, "input_arg", add_to(info.input_types)),
                       message_at(internal::kOpOutput, "output_arg", add_to(info.output_types)));
      }));
  return info;
}

bool is_stateful(TF_Graph* graph, TF_Operation* operation) {
  const internal::BufferPtr definition = internal::op_def(graph, TF_OperationOpType(operation));
  if (!definition) return true;
  bool result = false;
  ProtoReader(internal::view_of(*definition), "OpDef")
      .read(internal::flag_at(internal::kOpIsStateful, result));
  return result;
}

// The operations of a body with side effects: a call runs all of them, though TensorFlow would
// omit those that no output needs.
std::vector<const TF_Operation*> effects(TF_Graph* graph) {
  std::vector<const TF_Operation*> result;
  for (TF_Operation* const operation : internal::operations_of(graph))
    if (is_stateful(graph, operation)) result.push_back(operation);
  return result;
}

FunctionPtr to_function(TF_Graph* body, const std::string& name,
                        const std::vector<TF_Output>& inputs,
                        const std::vector<TF_Output>& outputs) {
  const std::vector<const TF_Operation*> all_effects = effects(body);
  Status status;
  FunctionPtr function(TF_GraphToFunctionWithControlOutputs(
      body, name.c_str(), 0, kAllOperations, nullptr, static_cast<int>(inputs.size()),
      inputs.data(), static_cast<int>(outputs.size()), outputs.data(), nullptr,
      static_cast<int>(all_effects.size()), all_effects.data(), nullptr, nullptr, nullptr,
      status.get()));
  status.check(fmt::format("function \"{}\"", name));
  return function;
}

}  // namespace

std::map<std::string, Function, std::less<>>& GraphBuilder::functions() const {
  auto& known = graph_.functions_;
  if (known) return *known;
  known.emplace();
  for (const FunctionPtr& function : functions_of(graph_.tensorflow_graph())) {
    FunctionInfo info = describe(function.get());
    const std::string name = info.name;
    known->emplace(name, Function(std::move(info)));
  }
  return *known;
}

void GraphBuilder::check_can_add_function(const std::string& name,
                                          const std::vector<FunctionInput>& inputs) const {
  graph_.check_not_finalized(name);
  if (!internal::is_legal_operation_name(name) || !is_letter(name.front()) ||
      name.starts_with("crochet/"))
    throw InvalidArgumentError(fmt::format("\"{}\" is not a valid name for a function", name));
  if (internal::op_def(graph_.tensorflow_graph(), name))
    throw AlreadyExistsError(
        fmt::format("\"{}\" is already the name of a function or an operation type", name));
  for (const FunctionInput& input : inputs)
    if (input.name.empty() || !is_letter(input.name.front()))
      throw InvalidArgumentError(fmt::format(
          "function \"{}\": \"{}\" is not a valid name for an input", name, input.name));
}

Function GraphBuilder::function(const std::string& name) {
  const auto& all = functions();
  const auto found = all.find(name);
  if (found == all.end())
    throw NotFoundError(fmt::format("the graph has no function \"{}\"", name));
  return found->second;
}

Function GraphBuilder::function(const std::string& name, const std::vector<FunctionInput>& inputs,
                                const FunctionBody& body) {
  check_can_add_function(name, inputs);
  Graph body_graph;
  body_graph.functions_ = functions();
  copy_functions(graph_.tensorflow_graph(), body_graph.tensorflow_graph(), name);

  GraphBuilder build(body_graph);
  std::vector<Output> arguments;
  std::vector<TF_Output> input_places;
  FunctionInfo info = {.name = name, .input_types = {}, .output_types = {}};
  for (const FunctionInput& input : inputs) {
    arguments.push_back(build.placeholder(input.name, input.dtype, input.shape));
    input_places.push_back({node_of(arguments.back()).operation, 0});
    info.input_types.push_back(input.dtype);
  }
  body_graph.is_function_body_ = true;
  const OpInput results = body(build, arguments);
  std::vector<TF_Output> output_places;
  for (const Output& result : results.outputs()) {
    const std::string what =
        fmt::format("function \"{}\": output {}", name, info.output_types.size());
    output_places.push_back(build.checked(result, what));
    info.output_types.push_back(body_graph.output_info(result).dtype);
  }

  const FunctionPtr made =
      to_function(body_graph.tensorflow_graph(), name, input_places, output_places);
  copy_functions(body_graph.tensorflow_graph(), graph_.tensorflow_graph(), name);
  copy_function(made.get(), graph_.tensorflow_graph(), name);
  auto& all = functions();
  all.insert(build.functions().begin(), build.functions().end());
  return all.insert_or_assign(name, Function(std::move(info))).first->second;
}

void GraphBuilder::check_functions(const std::string& name, const Attributes& attributes) const {
  for (const Function& function : internal::functions_in(attributes)) {
    if (!function)
      throw InvalidArgumentError(fmt::format("operation \"{}\": a function is unset", name));
    const auto& all = functions();
    const auto found = all.find(function.name());
    if (found == all.end() || found->second != function)
      throw InvalidArgumentError(fmt::format(
          "operation \"{}\": the function \"{}\" is of another graph", name, function.name()));
  }
}

void GraphBuilder::check_may_be_in_function(const std::string& type,
                                            const std::string& name) const {
  constexpr std::array<std::string_view, 3> kVariables = {"VarHandleOp", "VariableV2", "Variable"};
  if (!graph_.is_function_body_) return;
  if (internal::is_one_of(type, kVariables))
    throw InvalidArgumentError(fmt::format(
        "operation \"{}\" of type {}: functions have no variables of their own; give it the handle "
        "of one as an input, of type resource",
        name, type));
  if (type == "Placeholder" || type == "PlaceholderV2")
    throw InvalidArgumentError(fmt::format(
        "operation \"{}\" of type {}: functions cannot be fed; give it an input", name, type));
}

}  // namespace crochet::inline v0::tensorflow
