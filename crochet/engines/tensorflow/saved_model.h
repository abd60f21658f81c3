// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/engines/tensorflow/graph.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::tensorflow {

struct SavedModelOptions {
  // Selects the graph with exactly these tags, in any order.
  std::vector<std::string> tags = {"serve"};
  // The operating system's if null; TensorFlow itself reads the variables. Not owned.
  FileSystem* files = nullptr;
};

// The inputs and outputs for one use of a model, by name; for types and shapes see
// Graph::output_info. A sparse input "x" is three: "x/values", "x/indices" and "x/dense_shape".
struct Signature {
  std::string method_name;  // "tensorflow/serving/predict".
  std::map<std::string, Output, std::less<>> inputs;
  std::map<std::string, Output, std::less<>> outputs;
};

// A directory that TensorFlow exported as a SavedModel: saved_model.pb with one or more graphs,
// distinguished by tags, variables/ and assets/.
//
//   SavedModel model("models/digits");
//   const auto session = model.new_session();
//   const Signature& serve = model.signature("serving_default");
//   const Tensor scores =
//       session->run(serve.outputs.at("scores"), {{serve.inputs.at("images"), images}}).tensor();
//
// The graph is like any other and can be trained further: restore() restores its variables from the
// model, or crochet's own Saver does from variables_prefix(). A model of TensorFlow 2, which Python
// keeps in objects, has a graph, signatures and its own restore operation, but no variables
// here.
//
// For one thread; its sessions are like all others. Must outlive them.
class CROCHET_EXPORT SavedModel {
 public:
  // Throws: NotFoundError without saved_model.pb, without a graph with these tags (listing the
  // existing ones), and without a file of the assets; DataLossError and InvalidArgumentError with
  // the location in the file; UnimplementedError for the text form; and as Graph::from_meta_graph
  // does.
  explicit SavedModel(const std::string& directory, const SavedModelOptions& options = {});

  Graph& graph() const { return *graph_; }
  const std::map<std::string, Signature, std::less<>>& signatures() const { return signatures_; }
  // Throws: NotFoundError, listing the existing names.
  const Signature& signature(std::string_view name) const;

  // The prefix of the checkpoint with the variables; "" if the model has none.
  std::string variables_prefix() const;
  // Restores the variables with the model's own operation; does nothing if there are none.
  // Throws: NotFoundError and DataLossError for missing and damaged files; InvalidArgumentError if
  // a variable then has another shape, which TensorFlow does not check for resource variables.
  void restore(crochet::Session& session) const;

  // Fills tables and runs the exporter's initialisation (main_op, legacy_init_op); unset if it
  // has neither.
  Output init_op() const { return init_op_; }
  // The paths of the assets, by the tensors that take them. Constants already have these values in
  // graph(), wherever the model was exported: they need not be fed.
  const Feeds& init_feeds() const { return init_feeds_; }

  // A new session, restored and initialised.
  std::unique_ptr<crochet::Session> new_session(const SessionConfig& config = {});

 private:
  std::string with_own_assets(std::string_view meta_graph) const;
  std::string asset_path(const AssetFileDef& asset) const;
  Signature resolve(const SignatureDef& signature, const std::string& name) const;
  void add_assets();
  void find_init_op();

  FileSystem& files_;  // Not owned; outlives this.
  const std::string directory_;
  std::string place_;  // The graph's location for messages: "<path>: meta_graphs[0]".
  std::unique_ptr<Graph> graph_;
  std::map<std::string, Signature, std::less<>> signatures_;
  Output init_op_;
  Feeds init_feeds_;
};

}  // namespace crochet::inline v0::tensorflow
