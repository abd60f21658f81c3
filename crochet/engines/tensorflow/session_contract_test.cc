// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/session_contract.h"

#include "crochet/engines/tensorflow/test_graphs.h"

namespace crochet::tensorflow {
namespace {

// Counts its probes in a local variable: operations of TensorFlow call nobody.
class ImportedEngine : public SessionContractEngine {
 public:
  explicit ImportedEngine(const char* name) : graph_(Graph::import_meta_graph(golden_path(name))) {
    init_ = graph_.default_init_op();
    local_init_ = graph_.default_local_init_op();
  }
  crochet::Graph& graph() override { return graph_; }
  void extend(const std::string& name) override { graph_.group(name, {}); }
  Output placeholder() override { return graph_.output("placeholder"); }
  std::unique_ptr<crochet::Session> new_session() override {
    std::unique_ptr<crochet::Session> session = graph_.new_session("");
    session->run({init_, local_init_});
    return session;
  }
  bool calls_in_probe() const override { return false; }
  int64_t count_probes(crochet::Session& session) override {
    return session.run(graph_.definition().variables.at("local_variables").at(0).snapshot_name)
        .scalar<int64_t>();
  }

 private:
  Graph graph_;
  Output init_;
  Output local_init_;
};

struct ResourceEngine final : ImportedEngine {
  ResourceEngine() : ImportedEngine("contract_resource") {}
};
struct ReferenceEngine final : ImportedEngine {
  ReferenceEngine() : ImportedEngine("contract_reference") {}
};

}  // namespace
}  // namespace crochet::tensorflow

namespace crochet {

INSTANTIATE_TYPED_TEST_SUITE_P(TensorFlowResource, SessionContract, tensorflow::ResourceEngine);
INSTANTIATE_TYPED_TEST_SUITE_P(TensorFlowReference, SessionContract, tensorflow::ReferenceEngine);

}  // namespace crochet
