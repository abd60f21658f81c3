// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/engines/tensorflow/graph.h"
#include "crochet/session/session.h"

namespace crochet::tensorflow {

struct SavedModelOptions {
  // The graph with exactly these tags is taken, in any order.
  std::vector<std::string> tags = {"serve"};
  // The operating system's if null; variables are read by TensorFlow itself. Not owned.
  FileSystem* files = nullptr;
};

// One way to use a model, by name; info on types and shapes is the graph's (output_info). A sparse
// input "x" is three: "x/values", "x/indices" and "x/dense_shape".
struct Signature {
  std::string method_name;  // "tensorflow/serving/predict".
  std::map<std::string, Output, std::less<>> inputs;
  std::map<std::string, Output, std::less<>> outputs;
};

// A directory that TensorFlow exported as a SavedModel: saved_model.pb with one graph or several,
// told apart by tags, variables/ and assets/.
//
//   SavedModel model("models/digits");
//   const auto session = model.new_session();
//   const Signature& serve = model.signature("serving_default");
//   const Tensor scores =
//       session->run(serve.outputs.at("scores"), {{serve.inputs.at("images"), images}}).tensor();
//
// The graph is one like any other, to train on from: its variables come from the model by
// restore(), or by crochet's own Saver from variables_prefix(). What Python keeps in objects
// (models of TensorFlow 2) has a graph, signatures and its own way to restore, and no variables
// here.
//
// Built and used by one thread; its sessions are as all. Must outlive them.
class SavedModel {
 public:
  // Throws: NotFoundError without saved_model.pb, without a graph of these tags, with those there
  // are, and without a file of the assets; DataLossError and InvalidArgumentError with the place in
  // the file; else as Graph::from_meta_graph; UnimplementedError for the text form.
  explicit SavedModel(std::string directory, const SavedModelOptions& options = {});

  Graph& graph() const { return *graph_; }
  const std::map<std::string, Signature, std::less<>>& signatures() const { return signatures_; }
  // Throws: NotFoundError with the names there are.
  const Signature& signature(std::string_view name) const;

  // Of the checkpoint with the variables; "" if the model has none.
  std::string variables_prefix() const;
  // Gives the variables their values, by the model's own operation; nothing without any.
  // Throws: NotFoundError and DataLossError for missing and damaged files; InvalidArgumentError if
  // a variable has another shape then: those of resource variables TensorFlow does not check.
  void restore(crochet::Session& session) const;

  // Fills tables and whatever the exporter wanted done (main_op, legacy_init_op); unset if nothing.
  Output init_op() const { return init_op_; }
  // The paths of the assets, by the tensors that take them. Those that are constants have these
  // values in graph(), wherever the model was exported: runs need not be fed with them.
  const Feeds& init_feeds() const { return init_feeds_; }

  // A session in which both was done.
  std::unique_ptr<crochet::Session> new_session(const SessionConfig& config = {});

 private:
  std::string with_own_assets(std::string_view meta_graph) const;
  std::string asset_path(const AssetFileDef& asset) const;
  void add_signatures();
  Signature resolve(const SignatureDef& signature, const std::string& name) const;
  void add_assets();
  void find_init_op();

  const std::string directory_;
  FileSystem& files_;  // Not owned; outlives this.
  std::string place_;  // Of the graph, for messages: "<path>: meta_graphs[0]".
  std::unique_ptr<Graph> graph_;
  std::map<std::string, Signature, std::less<>> signatures_;
  Output init_op_;
  Feeds init_feeds_;
};

}  // namespace crochet::tensorflow
