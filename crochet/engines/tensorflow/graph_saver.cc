// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/graph_saver.h"

#include <filesystem>
#include <unordered_set>
#include <utility>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/engines/tensorflow/at_place.h"
#include "crochet/engines/tensorflow/c_api.h"
#include "crochet/engines/tensorflow/status.h"
#include "crochet/engines/tensorflow/tensor_conversion.h"
#include "crochet/session/session.h"

namespace crochet::tensorflow {
namespace {

constexpr int64_t kVersion2 = 2;

// Members of a cluster may have other working directories.
Tensor filename_of(const std::string& prefix) {
  if (prefix.find("://") != std::string::npos) return Tensor::scalar(prefix);
  return Tensor::scalar(std::filesystem::absolute(prefix).lexically_normal().string());
}

// Where the file names what a saver has.
std::string place_of(const char* field, const std::string& name) {
  return fmt::format("saver_def.{} = \"{}\"", field, name);
}

Output filename_place(const Graph& graph, const SaverDef& saver) {
  return internal::at_place(place_of("filename_tensor_name", saver.filename_tensor_name), [&] {
    const Output place = graph.output(saver.filename_tensor_name);
    if (graph.output_info(place).dtype != DType::kString)
      throw InvalidArgumentError("is {}, expected a string", graph.output_info(place).dtype);
    return place;
  });
}

Output save_tensor(const Graph& graph, const SaverDef& saver) {
  return internal::at_place(place_of("save_tensor_name", saver.save_tensor_name),
                            [&] { return graph.output(saver.save_tensor_name); });
}

Output restore_operation(const Graph& graph, const SaverDef& saver) {
  return internal::at_place(place_of("restore_op_name", saver.restore_op_name),
                            [&] { return Output(graph.operation(saver.restore_op_name)); });
}

SaverDef choose(const MetaGraph& file) {
  if (file.saver) return *file.saver;
  if (file.savers.size() == 1) return file.savers.front();
  throw FailedPreconditionError(
      "the graph has {} savers (saver_def is unset, the collection \"savers\" has {}), expected "
      "one: export it with a saver_def, or attach the GraphSaver of one",
      file.savers.size(), file.savers.size());
}

// All operations that a run of `root` runs.
std::vector<TF_Operation*> operations_behind(TF_Operation* root) {
  std::unordered_set<TF_Operation*> seen = {root};
  std::vector<TF_Operation*> all = {root};
  for (size_t i = 0; i < all.size(); ++i)
    for (TF_Operation* const one : internal::operations_before(all[i]))
      if (seen.insert(one).second) all.push_back(one);
  return all;
}

// The strings of a constant; nothing for another operation.
std::optional<Tensor> constant_strings(TF_Operation* operation) {
  if (std::string_view(TF_OperationOpType(operation)) != "Const") return std::nullopt;
  internal::Status status;
  TF_Tensor* value = nullptr;
  TF_OperationGetAttrTensor(operation, "value", &value, status.get());
  if (!status.ok()) return std::nullopt;
  Tensor strings = internal::from_tensorflow(internal::TensorPtr(value), internal::Sharing::kCopy);
  if (strings.dtype() != DType::kString) return std::nullopt;
  return strings;
}

}  // namespace

GraphSaver::GraphSaver(Graph& graph) : graph_(graph) {}

GraphSaver::GraphSaver(Graph& graph, SaverDef definition)
    : graph_(graph), definition_(std::move(definition)) {}

const SaverDef& GraphSaver::definition() const {
  if (!definition_) definition_ = choose(graph_.definition());
  if (definition_->version != kVersion2)
    throw UnimplementedError(
        "the graph's saver (saver_def.version = {}) writes the V1 format of checkpoints, which is "
        "neither written nor read here: export the graph with tf.compat.v1.train.Saver's default, "
        "write_version=SaverDef.V2, or let crochet save",
        definition_->version);
  if (!is_checked_) find_names();
  is_checked_ = true;
  return *definition_;
}

// The names of the tensors that a saver's operations write are constants.
void GraphSaver::find_names() const {
  filename_place(graph_, *definition_);
  restore_operation(graph_, *definition_);
  std::set<std::string, std::less<>> names;
  const Output root = save_tensor(graph_, *definition_);
  for (TF_Operation* const operation : operations_behind(node_of(root).operation)) {
    if (std::string_view(TF_OperationOpType(operation)) != "SaveV2") continue;
    const auto strings = constant_strings(TF_OperationInput({operation, 1}).oper);
    if (!strings) return;
    for (const std::string& name : strings->strings()) names.insert(name);
  }
  names_ = std::move(names);
}

bool GraphSaver::preferred_for(const crochet::Session& session) const {
  if (session.target().empty() || is_useless_) return false;
  try {
    definition();
  } catch (const Error& error) {
    is_useless_ = true;
    log_warning("the graph's own saver cannot be used, crochet saves: {}", error.what());
  }
  return !is_useless_;
}

bool GraphSaver::saves(std::string_view variable) const {
  definition();
  return !names_ || names_->contains(variable);
}

void GraphSaver::save(crochet::Session& session, const std::string& prefix) {
  const SaverDef& saver = definition();
  session.run(save_tensor(graph_, saver), {{filename_place(graph_, saver), filename_of(prefix)}});
}

void GraphSaver::restore(crochet::Session& session, const std::string& prefix) {
  const SaverDef& saver = definition();
  session.run(restore_operation(graph_, saver),
              {{filename_place(graph_, saver), filename_of(prefix)}});
}

}  // namespace crochet::tensorflow
