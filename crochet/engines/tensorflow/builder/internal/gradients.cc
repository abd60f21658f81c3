// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/builder/internal/gradients.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/internal/definitions.h"
#include "crochet/engines/tensorflow/internal/operation_builder.h"
#include "crochet/engines/tensorflow/internal/status.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

using Operations = std::unordered_set<TF_Operation*>;

// Those among `operations` that depend on one of `xs` by values, in the order of their names.
std::vector<TF_Operation*> dependents(std::span<const TF_Output> xs, const Operations& operations) {
  Operations seen;
  std::vector<TF_Output> rest(xs.begin(), xs.end());
  while (!rest.empty()) {
    const TF_Output output = rest.back();
    rest.pop_back();
    std::vector<TF_Input> consumers(static_cast<size_t>(TF_OperationOutputNumConsumers(output)));
    TF_OperationOutputConsumers(output, consumers.data(), static_cast<int>(consumers.size()));
    for (const TF_Input& consumer : consumers) {
      if (!operations.contains(consumer.oper) || !seen.insert(consumer.oper).second) continue;
      for (int i = 0; i < TF_OperationNumOutputs(consumer.oper); ++i)
        rest.push_back({consumer.oper, i});
    }
  }
  std::vector<TF_Operation*> result(seen.begin(), seen.end());
  std::ranges::sort(result, {}, [](TF_Operation* operation) {
    return std::string_view(TF_OperationName(operation));
  });
  return result;
}

// The derivative of a loop needs information that exists only for loops built by TensorFlow's C API
// itself: for others it would dereference a null pointer.
bool is_of_a_loop(std::string_view type) {
  constexpr std::array<std::string_view, 8> kTypes = {
      "Enter",    "Exit",    "NextIteration",    "LoopCond",
      "RefEnter", "RefExit", "RefNextIteration", "Switch"};
  return is_one_of(type, kTypes);
}

void check_no_loops(const std::string& prefix, const std::vector<TF_Operation*>& operations) {
  for (TF_Operation* const operation : operations)
    if (is_of_a_loop(TF_OperationOpType(operation)))
      throw UnimplementedError(fmt::format(
          "gradients \"{}\": operation \"{}\" of type {} belongs to control flow, through which "
          "TensorFlow's C API gives no gradients",
          prefix, TF_OperationName(operation), TF_OperationOpType(operation)));
}

// Throws: UnimplementedError if the message says that a type has no gradient.
void check_known(const Status& status, const std::string& prefix,
                 const std::vector<TF_Operation*>& operations) {
  constexpr std::string_view kMissing = "No gradient defined for op: ";
  const std::string_view message = status.message();
  const size_t begin = message.find(kMissing);
  if (status.ok() || begin == std::string_view::npos) return;
  std::string_view type = message.substr(begin + kMissing.size());
  type = type.substr(0, type.find(". "));
  std::vector<std::string> names;
  for (TF_Operation* const operation : operations)
    if (type == TF_OperationOpType(operation))
      names.push_back(fmt::format("\"{}\"", TF_OperationName(operation)));
  throw UnimplementedError(fmt::format(
      "gradients \"{}\": TensorFlow's C API has no gradient for {}, the type of {}; export the "
      "gradients with the graph, or build them of other operations",
      prefix, type, fmt::join(names, ", ")));
}

// TF_AddGradients stops at a y even if that depends on another y. Nothing depends on these copies.
std::vector<TF_Output> copies_of(TF_Graph* graph, const std::string& prefix,
                                 std::span<const TF_Output> ys) {
  std::vector<TF_Output> copies;
  for (size_t i = 0; i < ys.size(); ++i) {
    OperationBuilder copy(graph, "Identity", fmt::format("{}_ys_{}", prefix, i));
    copies.push_back({copy.input(ys[i]).finish(), 0});
  }
  return copies;
}

std::vector<TF_Output> add_unchecked(TF_Graph* graph, const std::string& prefix,
                                     std::span<const TF_Output> ys, std::span<const TF_Output> xs,
                                     Status& status) {
  std::vector<TF_Output> of = copies_of(graph, prefix, ys);
  std::vector<TF_Output> by(xs.begin(), xs.end());
  std::vector<TF_Output> derivatives(by.size(), TF_Output{nullptr, 0});
  TF_AddGradientsWithPrefix(graph, prefix.c_str(), of.data(), static_cast<int>(of.size()),
                            by.data(), static_cast<int>(by.size()), nullptr, status.get(),
                            derivatives.data());
  return derivatives;
}

std::vector<TF_Output> translate(std::span<const TF_Output> outputs, TF_Graph* graph) {
  std::vector<TF_Output> result;
  for (const TF_Output& output : outputs)
    result.push_back({TF_GraphOperationByName(graph, TF_OperationName(output.oper)), output.index});
  return result;
}

// Tries it in a copy of the graph: a failure leaves incomplete operations.
void rehearse(TF_Graph* graph, const std::string& prefix, std::span<const TF_Output> ys,
              std::span<const TF_Output> xs, const std::vector<TF_Operation*>& between) {
  const std::string what = fmt::format("gradients \"{}\"", prefix);
  const BufferPtr definition = graph_def(graph, what);
  Status status;
  const GraphPtr copy(TF_NewGraph());
  const ImportOptionsPtr options(TF_NewImportGraphDefOptions());
  TF_GraphImportGraphDef(copy.get(), definition.get(), options.get(), status.get());
  status.check(what);
  add_unchecked(copy.get(), prefix, translate(ys, copy.get()), translate(xs, copy.get()), status);
  check_known(status, prefix, between);
  status.check(what);
}

}  // namespace

bool has_derivatives(DType dtype) {
  constexpr std::array<DType, 6> kTypes = {DType::kHalf,   DType::kBfloat16,  DType::kFloat,
                                           DType::kDouble, DType::kComplex64, DType::kComplex128};
  return std::ranges::find(kTypes, dtype) != kTypes.end();
}

std::vector<TF_Output> add_gradients(TF_Graph* graph, const std::string& prefix,
                                     std::span<const TF_Output> ys, std::span<const TF_Output> xs) {
  Operations behind;  // What the ys depend on by values, and their own operations.
  for (const TF_Output& y : ys) add_with_sources(y.oper, behind);
  std::vector<TF_Output> by;  // Each x once, and only those that some y depends on.
  for (const TF_Output& x : xs)
    if (behind.contains(x.oper) &&
        std::ranges::none_of(by, [&](const TF_Output& other) { return is_same(x, other); }))
      by.push_back(x);
  std::vector<TF_Output> result(xs.size(), TF_Output{nullptr, 0});
  if (by.empty()) return result;

  const std::vector<TF_Operation*> between = dependents(by, behind);
  check_no_loops(prefix, between);
  rehearse(graph, prefix, ys, by, between);
  Status status;
  const std::vector<TF_Output> derivatives = add_unchecked(graph, prefix, ys, by, status);
  status.check(fmt::format("gradients \"{}\"", prefix));
  for (size_t i = 0; i < xs.size(); ++i)
    for (size_t k = 0; k < by.size(); ++k)
      if (is_same(xs[i], by[k])) result[i] = derivatives[k];
  return result;
}

}  // namespace crochet::inline v0::tensorflow::internal
