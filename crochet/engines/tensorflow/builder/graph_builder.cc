// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/builder/graph_builder.h"

#include <algorithm>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/dynamic_type.h"
#include "crochet/engines/tensorflow/builder/internal/function_rules.h"
#include "crochet/engines/tensorflow/builder/internal/operation_rules.h"
#include "crochet/engines/tensorflow/internal/c_api.h"
#include "crochet/engines/tensorflow/internal/graph_def.h"
#include "crochet/engines/tensorflow/internal/operation_builder.h"

namespace crochet::inline v0::tensorflow {
namespace {

using internal::OperationBuilder;

bool is_empty_word(const Attribute& attribute) {
  const auto* const word = std::get_if<std::string>(&attribute.value());
  return word != nullptr && word->empty();
}

Graph& checked_graph(crochet::Graph& graph) {
  auto* const ours = crochet::internal::dynamic_as<Graph>(&graph);
  if (ours == nullptr)
    throw InvalidArgumentError("GraphBuilder: the graph is not one that TensorFlow runs");
  return *ours;
}

}  // namespace

GraphBuilder::GraphBuilder(crochet::Graph& graph) : graph_(checked_graph(graph)) {}

void GraphBuilder::check_free_prefix(const std::string& name) const {
  graph_.check_can_add(name);
  for (TF_Operation* const operation : internal::operations_of(graph_.tensorflow_graph()))
    if (std::string_view(TF_OperationName(operation)).starts_with(name + "/"))
      throw AlreadyExistsError(
          fmt::format("\"{}\" is taken: the graph already has an operation \"{}\"", name,
                      TF_OperationName(operation)));
}

TF_Output GraphBuilder::checked(const Output& output, std::string_view what) const {
  if (!output) throw InvalidArgumentError(fmt::format("{} is an unset output", what));
  if (output.graph() != &graph_)
    throw InvalidArgumentError(fmt::format("{}, {}, is of another graph", what, to_string(output)));
  if (output.index() >= output.operation()->num_outputs)
    throw InvalidArgumentError(fmt::format("{}, {}: the operation has {} outputs", what,
                                           to_string(output), output.operation()->num_outputs));
  return {node_of(output).operation, output.index()};
}

void GraphBuilder::check_options(const std::string& name, const OpOptions& options) const {
  for (const Output& control : options.control_inputs)
    checked(control, fmt::format("operation \"{}\": a control input", name));
  if (options.colocate_with)
    checked(options.colocate_with, fmt::format("operation \"{}\": colocate_with", name));
}

Operation GraphBuilder::op(const std::string& type, std::string name,
                           const std::vector<OpInput>& inputs, const Attributes& attributes,
                           const OpOptions& options) {
  graph_.check_can_add(name);
  check_may_be_in_function(type, name);
  check_options(name, options);
  check_functions(name, attributes);
  std::vector<std::vector<TF_Output>> places;
  for (size_t i = 0; i < inputs.size(); ++i) {
    places.emplace_back();
    for (const Output& output : inputs[i].outputs())
      places.back().push_back(checked(output, fmt::format("operation \"{}\": input {}", name, i)));
  }
  Attributes all = attributes;
  if (const auto given = all.find("shared_name");
      given != all.end() && is_empty_word(given->second))
    all.erase(given);
  const internal::RuledOperation rules = internal::apply_rules(graph_, type, name, places, all);
  all.insert(rules.attributes.begin(), rules.attributes.end());
  internal::apply_function_rules(type, name, places, all);

  OperationBuilder builder(graph_.tensorflow_graph(), type, std::move(name));
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].is_list())
      builder.input_list(places[i]);
    else
      builder.input(places[i].front());
  for (const auto& [attribute, value] : all) builder.attribute(attribute, value);
  builder.device(options.device);
  if (options.colocate_with) builder.colocate_with(node_of(options.colocate_with).operation);
  for (const Output& control : options.control_inputs)
    builder.control_input(node_of(control).operation);
  for (TF_Operation* const control : rules.control_inputs) builder.control_input(control);
  return Operation(&graph_.add_node(builder.finish()));
}

Output GraphBuilder::placeholder(std::string name, DType dtype, std::optional<Shape> shape) {
  return op("Placeholder", std::move(name), {}, {{"dtype", dtype}, {"shape", std::move(shape)}})[0];
}

Output GraphBuilder::constant_of(std::string name, const Tensor& value, const OpOptions& options) {
  if (!value.is_set())
    throw InvalidArgumentError(fmt::format("constant \"{}\" has no value", name));
  return op("Const", std::move(name), {}, {{"value", value}, {"dtype", value.dtype()}}, options)[0];
}

Operation GraphBuilder::group(std::string name, const std::vector<Output>& operations) {
  return op("NoOp", std::move(name), {}, {}, {.control_inputs = operations});
}

Output GraphBuilder::name(std::string name, const OpInput& value) {
  return op("Identity", std::move(name), {value})[0];
}

Output GraphBuilder::scalar_summary(std::string name, const OpInput& value) {
  return summary("ScalarSummary", "tags", std::move(name), value);
}

Output GraphBuilder::histogram_summary(std::string name, const OpInput& values) {
  return summary("HistogramSummary", "tag", std::move(name), values);
}

Output GraphBuilder::summary(const char* type, const char* tag, std::string name,
                             const OpInput& value) {
  graph_.check_can_add(name);
  if (graph_.is_function_body_)
    throw InvalidArgumentError(
        fmt::format("summary \"{}\": a function cannot have summaries; return the value", name));
  const Output tags = constant(fmt::format("{}/{}", name, tag), name);
  const Output summary = op(type, std::move(name), {tags, value})[0];
  graph_.add_to_collection(kSummariesCollection, summary);
  return summary;
}

}  // namespace crochet::inline v0::tensorflow
