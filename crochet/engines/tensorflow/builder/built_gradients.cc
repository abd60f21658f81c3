// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <unordered_set>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/builder/graph_builder.h"
#include "crochet/engines/tensorflow/builder/internal/gradients.h"
#include "crochet/engines/tensorflow/internal/c_api.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::tensorflow {
namespace {

TF_Output handle_place(const std::string& name, const Variable& variable) {
  const TF_Output handle = {node_of(variable).parts.front().handle, 0};
  if (internal::type_number(handle) != TF_RESOURCE)
    throw UnimplementedError(fmt::format(
        "gradients \"{}\": \"{}\" is a reference variable; name the output that reads it", name,
        variable.name()));
  return handle;
}

}  // namespace

std::vector<Output> GraphBuilder::gradients(const std::string& name, const std::vector<OpInput>& ys,
                                            const std::vector<OpInput>& xs) {
  check_free_prefix(name);
  if (ys.empty()) throw InvalidArgumentError(fmt::format("gradients \"{}\": ys is empty", name));
  std::vector<TF_Output> of;
  for (size_t i = 0; i < ys.size(); ++i)
    of.push_back(derivable(fmt::format("gradients \"{}\": ys[{}]", name, i), ys[i]));
  std::vector<TF_Output> by;
  for (size_t i = 0; i < xs.size(); ++i) {
    by.push_back(derivable(fmt::format("gradients \"{}\": xs[{}]", name, i), xs[i]));
    // Derived by the handle, so that all its reads count.
    if (xs[i].variable()) by.back() = handle_place(name, xs[i].variable());
  }
  return add_gradients(name, of, by);
}

TF_Output GraphBuilder::derivable(const std::string& what, const OpInput& input) const {
  if (input.is_list()) throw InvalidArgumentError(fmt::format("{} is a list", what));
  const Output& output = input.outputs().front();
  const TF_Output place = checked(output, what);
  const DType dtype = graph_.output_info(output).dtype;
  if (!internal::has_derivatives(dtype))
    throw InvalidArgumentError(
        fmt::format("{}: {} is {}, which has no derivatives", what, to_string(output), dtype));
  return place;
}

std::vector<Output> GraphBuilder::add_gradients(const std::string& name,
                                                const std::vector<TF_Output>& ys,
                                                const std::vector<TF_Output>& xs) {
  TF_Graph* const graph = graph_.tensorflow_graph();
  const std::vector<TF_Operation*> known = internal::operations_of(graph);
  const std::unordered_set<TF_Operation*> before(known.begin(), known.end());
  const std::vector<TF_Output> derivatives = internal::add_gradients(graph, name, ys, xs);
  for (TF_Operation* const operation : internal::operations_of(graph))
    if (!before.contains(operation)) graph_.add_node(operation);
  std::vector<Output> result;
  for (const TF_Output& derivative : derivatives)
    result.push_back(
        derivative.oper == nullptr
            ? Output()
            : Output(graph_.find_operation(TF_OperationName(derivative.oper)), derivative.index));
  return result;
}

}  // namespace crochet::inline v0::tensorflow
