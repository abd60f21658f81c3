// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/saved_model.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/internal/at_location.h"
#include "crochet/engines/tensorflow/internal/graph_def.h"
#include "crochet/engines/tensorflow/internal/graph_saver.h"
#include "crochet/engines/tensorflow/internal/proto_reader.h"
#include "crochet/engines/tensorflow/internal/string_constants.h"
#include "crochet/io/file_system.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::tensorflow {
namespace {

using internal::find_element;
using internal::ProtoReader;

// Signatures with this prefix are internal.
constexpr std::string_view kInternal = "__saved_model_";
constexpr std::string_view kInitOpSignature = "__saved_model_init_op";
constexpr std::array<const char*, 2> kInitOpCollections = {"saved_model_main_op", "legacy_init_op"};

using Tags = std::set<std::string>;

// A graph of the file.
struct Candidate {
  std::string_view bytes;
  Tags tags;
};

Tags read_tags(ProtoReader meta_graph) {
  Tags tags;
  meta_graph.read(internal::message_at(1, "meta_info_def", [&](ProtoReader info) {
    info.read(internal::bytes_at(4, [&](ProtoReader& tag) { tags.insert(tag.text()); }));
  }));
  return tags;
}

std::vector<Candidate> read_candidates(std::string_view bytes, const std::string& path) {
  std::vector<Candidate> candidates;
  ProtoReader(bytes, path).read(internal::bytes_at(2, [&](ProtoReader& value) {
    const std::string_view graph = value.view();
    candidates.push_back(
        {graph, read_tags({graph, fmt::format("{}: meta_graphs[{}]", path, candidates.size())})});
  }));
  return candidates;
}

std::string describe(const Tags& tags) { return fmt::format("{{{}}}", fmt::join(tags, ", ")); }

size_t choose(const std::vector<Candidate>& candidates, const Tags& tags, const std::string& path) {
  std::vector<std::string> found;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].tags == tags) return i;
    found.push_back(describe(candidates[i].tags));
  }
  throw NotFoundError(
      fmt::format("{}: no graph has the tags {}; there {}: {}", path, describe(tags),
                  found.size() == 1 ? "is" : "are",
                  found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "))));
}

std::string read_saved_model(FileSystem& files, const std::string& directory,
                             const std::string& path) {
  if (files.exists(path)) return internal::read_graph_file(&files, path);
  const std::string text = join_path(directory, "saved_model.pbtxt");
  if (files.exists(text))
    throw UnimplementedError(
        fmt::format("{}: the text form of a SavedModel is not supported", text));
  throw NotFoundError(
      fmt::format("{}: there is no such file: the directory is not a SavedModel", path));
}

// False for a file name that leads out of the model.
bool is_within(const std::string& filename) {
  const std::filesystem::path path(filename);
  return !path.empty() && path.is_relative() && std::ranges::find(path, "..") == path.end();
}

}  // namespace

SavedModel::SavedModel(const std::string& directory, const SavedModelOptions& options)
    : files_(FileSystem::or_posix(options.files)), directory_(files_.fixed_path(directory)) {
  const std::string path = join_path(directory_, "saved_model.pb");
  const std::string bytes = read_saved_model(files_, directory_, path);
  const std::vector<Candidate> candidates = read_candidates(bytes, path);
  const size_t index = choose(candidates, {options.tags.begin(), options.tags.end()}, path);
  place_ = fmt::format("{}: meta_graphs[{}]", path, index);
  // A Graph cannot be moved, so std::make_unique cannot make one.
  // NOLINTNEXTLINE(modernize-make-unique)
  graph_.reset(new Graph(Graph::from_meta_graph(with_own_assets(candidates[index].bytes), place_)));
  for (const auto& [name, signature] : graph_->definition().signatures)
    if (!name.starts_with(kInternal)) signatures_.emplace(name, resolve(signature, name));
  add_assets();
  find_init_op();
}

// The exporter's paths may belong to another machine, and initialisers of tables read
// from them: replaces them with paths of this directory.
std::string SavedModel::with_own_assets(std::string_view meta_graph) const {
  internal::StringConstants paths;
  for (const AssetFileDef& asset : parse_meta_graph(meta_graph, place_).assets)
    if (is_within(asset.filename))
      paths[std::string(internal::without_index(asset.tensor_name))] =
          std::filesystem::absolute(asset_path(asset)).lexically_normal().string();
  if (paths.empty()) return std::string(meta_graph);
  return internal::with_string_constants(meta_graph, paths, place_);
}

std::string SavedModel::asset_path(const AssetFileDef& asset) const {
  return join_path(join_path(directory_, "assets"), asset.filename);
}

Signature SavedModel::resolve(const SignatureDef& signature, const std::string& name) const {
  const auto find_all = [&](const auto& tensors, const char* which) {
    std::map<std::string, Output, std::less<>> found;
    for (const auto& [key, tensor] : tensors)
      found.emplace(key, find_element(*graph_, tensor,
                                      fmt::format("{}.signature_def[\"{}\"].{}[\"{}\"]", place_,
                                                  name, which, key)));
    return found;
  };
  return {.method_name = signature.method_name,
          .inputs = find_all(signature.inputs, "inputs"),
          .outputs = find_all(signature.outputs, "outputs")};
}

void SavedModel::add_assets() {
  const std::vector<AssetFileDef>& assets = graph_->definition().assets;
  for (size_t i = 0; i < assets.size(); ++i) {
    const std::string place = fmt::format("{}.assets[{}]", place_, i);
    const Output tensor = find_element(*graph_, assets[i].tensor_name, place);
    if (!tensor.has_value() || graph_->output_info(tensor).dtype != DType::kString)
      throw InvalidArgumentError(
          fmt::format("{}: \"{}\" does not take a path", place, assets[i].tensor_name));
    if (!is_within(assets[i].filename))
      throw InvalidArgumentError(
          fmt::format("{}: the file \"{}\" is outside of the model", place, assets[i].filename));
    const std::string path = asset_path(assets[i]);
    // Some exporters list it twice.
    const auto known = std::ranges::find(init_feeds_, tensor, &Feeds::value_type::first);
    if (known != init_feeds_.end() && known->second == Tensor::scalar(path)) continue;
    if (!files_.exists(path))
      throw NotFoundError(fmt::format("{}: there is no such file, {} needs it", path, place));
    init_feeds_.emplace_back(tensor, Tensor::scalar(path));
  }
}

void SavedModel::find_init_op() {
  const MetaGraph& definition = graph_->definition();
  if (const auto found = definition.signatures.find(kInitOpSignature);
      found != definition.signatures.end() && found->second.outputs.size() == 1) {
    const std::string place = fmt::format("{}.signature_def[\"{}\"]", place_, kInitOpSignature);
    init_op_ = find_element(*graph_, found->second.outputs.begin()->second, place);
    return;
  }
  for (const char* const collection : kInitOpCollections) {
    const std::vector<Output> operations = graph_->collection(collection);
    if (operations.size() > 1)
      throw InvalidArgumentError(
          fmt::format("{}: the collection \"{}\" has {} operations, expected one", place_,
                      collection, operations.size()));
    if (operations.empty()) continue;
    init_op_ = operations.front();
    return;
  }
}

const Signature& SavedModel::signature(std::string_view name) const {
  if (const auto found = signatures_.find(name); found != signatures_.end()) return found->second;
  std::vector<std::string_view> names;
  for (const auto& [known, signature] : signatures_) names.push_back(known);
  throw NotFoundError(fmt::format("{}: the model has no signature \"{}\"; it has: {}", directory_,
                                  name, fmt::join(names, ", ")));
}

std::string SavedModel::variables_prefix() const {
  if (!graph_->definition().saver) return "";
  return join_path(join_path(directory_, "variables"), "variables");
}

void SavedModel::restore(crochet::Session& session) const {
  const std::string prefix = variables_prefix();
  if (prefix.empty()) return;
  const std::string index = prefix + ".index";
  if (!files_.exists(index))
    throw NotFoundError(
        fmt::format("{}: there is no such file: the model's variables are gone", index));
  internal::GraphSaver saver(*graph_);
  static_cast<crochet::internal::StateOperations&>(saver).restore(session, prefix);
  const std::vector<Variable> variables = graph_->variables();
  const Snapshot values = session.snapshot(variables);
  for (size_t i = 0; i < variables.size(); ++i)
    if (const Tensor& value = values.tensors()[i].tensor;
        !value.shape().is_compatible_with(variables[i].shape()))
      throw InvalidArgumentError(fmt::format("{}: \"{}\" is {} there and {} in the graph", prefix,
                                             variables[i].name(), value.shape(),
                                             variables[i].shape()));
}

std::unique_ptr<crochet::Session> SavedModel::new_session(const SessionConfig& config) {
  std::unique_ptr<crochet::Session> session = graph_->new_session("", config);
  restore(*session);
  if (init_op_) session->run(init_op_, init_feeds_);
  return session;
}

}  // namespace crochet::inline v0::tensorflow
