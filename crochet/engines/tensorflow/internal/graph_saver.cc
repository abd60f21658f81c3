// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/graph_saver.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/engines/tensorflow/internal/at_location.h"
#include "crochet/engines/tensorflow/internal/saver_entries.h"
#include "crochet/session/session.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

constexpr int64_t kVersion2 = 2;

// Absolute, as members of a cluster may have other working directories.
Tensor filename_of(const std::string& prefix) {
  if (prefix.find("://") != std::string::npos) return Tensor::scalar(prefix);
  return Tensor::scalar(std::filesystem::absolute(prefix).lexically_normal().string());
}

// The location of a saver's field in the file.
std::string place_of(const char* field, const std::string& name) {
  return fmt::format("saver_def.{} = \"{}\"", field, name);
}

Output filename_place(const Graph& graph, const SaverDef& saver) {
  return internal::at_location(place_of("filename_tensor_name", saver.filename_tensor_name), [&] {
    const Output place = graph.output(saver.filename_tensor_name);
    if (graph.output_info(place).dtype != DType::kString)
      throw InvalidArgumentError(
          fmt::format("is {}, expected a string", graph.output_info(place).dtype));
    return place;
  });
}

Output save_tensor(const Graph& graph, const SaverDef& saver) {
  return internal::at_location(place_of("save_tensor_name", saver.save_tensor_name),
                               [&] { return graph.output(saver.save_tensor_name); });
}

Output restore_operation(const Graph& graph, const SaverDef& saver) {
  return internal::at_location(place_of("restore_op_name", saver.restore_op_name),
                               [&] { return Output(graph.operation(saver.restore_op_name)); });
}

SaverDef choose(const MetaGraph& file) {
  if (file.saver) return *file.saver;
  if (file.savers.size() == 1) return file.savers.front();
  throw FailedPreconditionError(fmt::format(
      "the graph has {} savers (saver_def is unset, the collection \"savers\" has {}), expected "
      "one: export it with a saver_def, or attach the GraphSaver of one",
      file.savers.size(), file.savers.size()));
}

}  // namespace

GraphSaver::GraphSaver(Graph& graph) : graph_(graph) {}

GraphSaver::GraphSaver(Graph& graph, SaverDef definition)
    : graph_(graph), definition_(std::move(definition)) {}

const SaverDef& GraphSaver::definition() const {
  if (!definition_) definition_ = choose(graph_.definition());
  if (definition_->version != kVersion2)
    throw UnimplementedError(fmt::format(
        "the graph's saver (saver_def.version = {}) writes the V1 format of checkpoints, which is "
        "neither written nor read here: export the graph with tf.compat.v1.train.Saver's default, "
        "write_version=SaverDef.V2, or let crochet save",
        definition_->version));
  if (!is_checked_) read();
  is_checked_ = true;
  return *definition_;
}

void GraphSaver::read() const {
  filename_place(graph_, *definition_);
  restore_operation(graph_, *definition_);
  internal::SaverContents contents =
      internal::read_saver(node_of(save_tensor(graph_, *definition_)).operation);
  sources_ = std::move(contents.sources);
  if (!contents.entries) return;
  names_.emplace();
  for (const internal::SaverEntry& entry : *contents.entries) names_->insert(entry.key);
}

bool GraphSaver::preferred_for(const crochet::Session& session) const {
  if (session.target().empty() || is_useless_) return false;
  try {
    definition();
  } catch (const Error& error) {
    is_useless_ = true;
    log_warning(
        fmt::format("the graph's own saver cannot be used, crochet saves: {}", error.what()));
  }
  return !is_useless_;
}

bool GraphSaver::saves(std::string_view variable) const {
  definition();
  return !names_ || names_->contains(variable);
}

bool GraphSaver::knows_names() const {
  definition();
  return names_.has_value();
}

bool GraphSaver::saves_state(std::string_view name) const {
  definition();
  const auto is_source = [&](TF_Operation* operation) { return sources_.contains(operation); };
  for (const Variable& variable : graph_.variables())
    if (variable.name() == name)
      return std::ranges::all_of(node_of(variable).parts, is_source, &Graph::Slice::handle);
  if (const OperationInfo* const operation = graph_.find_operation(name))
    return is_source(node_of(*operation).operation);
  return names_ && names_->contains(name);
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

}  // namespace crochet::inline v0::tensorflow::internal
