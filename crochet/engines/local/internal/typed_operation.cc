// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/internal/typed_operation.h"

#include <algorithm>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/engines/local/internal/graph_state.h"

namespace crochet::inline v0::local::internal {
namespace {

size_t num_parameters(const OpInput& input) {
  return input.use() == OpInput::Use::kReplace ? 2 : 1;
}

void check_number(const std::string& name, std::span<const OpInput> inputs, size_t num_given) {
  size_t number = 0;
  for (const OpInput& input : inputs) number += num_parameters(input);
  if (number != num_given)
    throw InvalidArgumentError(fmt::format(
        "operation \"{}\": its {} inputs need {} parameters (replace() needs two), the callable "
        "has {}",
        name, inputs.size(), number, num_given));
}

// A changed variable must not also be read by the same callable.
void check_no_alias(const std::string& name, std::span<const OpInput> inputs) {
  for (const OpInput& input : inputs) {
    if (input.use() != OpInput::Use::kUpdate && input.use() != OpInput::Use::kReplace) continue;
    if (std::ranges::count(inputs, input.variable(), &OpInput::variable) > 1)
      throw InvalidArgumentError(
          fmt::format("operation \"{}\": {} is changed, so it can be an input only once", name,
                      to_string(input)));
  }
}

// Adds the inputs one by one, each with the parameters it needs.
class Describer {
 public:
  Describer(const crochet::Graph& graph, OperationOptions& operation,
            std::span<const ParameterInfo> parameters, std::span<Argument> arguments)
      : graph_(graph), operation_(operation), parameters_(parameters), arguments_(arguments) {}

  void add(const OpInput& input) {
    check_graph(input);
    switch (input.use()) {
      case OpInput::Use::kValue:
        arguments_[next_] = {Argument::Source::kInput,
                             node_of(input.output()).slot(input.output().index())};
        operation_.inputs.push_back(input.output());
        operation_.input_specs.push_back(parameters_[next_].spec);
        return check(input, /*writes=*/false);
      case OpInput::Use::kRead:
        operation_.reads.push_back(input.variable());
        return add_variable(input, Argument::Source::kVariable, /*writes=*/false);
      case OpInput::Use::kUpdate:
        operation_.updates.push_back(input.variable());
        return add_variable(input, Argument::Source::kVariable, /*writes=*/true);
      case OpInput::Use::kReplace:
        operation_.replaces.push_back(input.variable());
        add_variable(input, Argument::Source::kVariable, /*writes=*/false);
        return add_variable(input, Argument::Source::kNext, /*writes=*/true);
    }
  }

 private:
  void check_graph(const OpInput& input) const {
    const crochet::Graph* const found = input.use() == OpInput::Use::kValue ? input.output().graph()
                                        : input.variable() ? input.variable().info()->graph
                                                           : nullptr;
    if (found != &graph_)
      throw InvalidArgumentError(fmt::format("operation \"{}\": {} is not part of this graph",
                                             operation_.name, to_string(input)));
    if (input.use() == OpInput::Use::kValue && !input.output().has_value())
      throw InvalidArgumentError(fmt::format("operation \"{}\": its input {} has no value",
                                             operation_.name, to_string(input)));
  }

  void add_variable(const OpInput& input, Argument::Source source, bool writes) {
    const VariableNode& node = node_of(input.variable());
    arguments_[next_] = {source, node.index};
    const TensorSpec found = TensorSpec::of(node.dtype, node.shape);
    if (!parameters_[next_].spec.agrees_with(found))
      throw InvalidArgumentError(fmt::format(
          "operation \"{}\": parameter {}, {}, is {}, the callable takes {}", operation_.name,
          next_, to_string(input), to_string(found), to_string(parameters_[next_].spec)));
    check(input, writes);
  }

  void check(const OpInput& input, bool writes) {
    if (parameters_[next_].writes && !writes)
      throw InvalidArgumentError(fmt::format(
          "operation \"{}\": parameter {}, {}, is read, but the callable takes it for writing: use "
          "update() or replace() of a variable, or take it const",
          operation_.name, next_, to_string(input)));
    if (writes && !parameters_[next_].writes)
      throw InvalidArgumentError(fmt::format(
          "operation \"{}\": parameter {}, {}, is written, but the callable takes it for reading",
          operation_.name, next_, to_string(input)));
    ++next_;
  }

  const crochet::Graph& graph_;
  OperationOptions& operation_;
  std::span<const ParameterInfo> parameters_;
  std::span<Argument> arguments_;
  size_t next_ = 0;  // The next parameter.
};

}  // namespace

OperationOptions describe_operation(const crochet::Graph& graph, std::string name,
                                    std::span<const OpInput> inputs,
                                    std::span<const ParameterInfo> parameters,
                                    std::span<Argument> arguments, const OpOptions& options) {
  OperationOptions operation{.name = std::move(name),
                             .control_inputs = options.control_inputs,
                             .after = options.after,
                             .changes_borrowed = options.changes_borrowed,
                             .intact_at_end_of_input = options.intact_at_end_of_input,
                             .concurrent = options.concurrent};
  check_number(operation.name, inputs, parameters.size());
  check_no_alias(operation.name, inputs);
  Describer describer(graph, operation, parameters, arguments);
  for (const OpInput& input : inputs) describer.add(input);
  return operation;
}

}  // namespace crochet::inline v0::local::internal
