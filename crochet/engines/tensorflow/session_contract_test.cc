// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/session_contract.h"

#include "crochet/engines/tensorflow/session.h"
#include "tests/tensorflow/test_cluster.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet::tensorflow {
namespace {

// Counts its probes in a local variable, as TensorFlow's operations do not call back.
class ImportedEngine : public SessionContractEngine {
 public:
  explicit ImportedEngine(const char* name, std::string target = {}, SessionConfig config = {})
      : graph_(import_golden(name)), target_(std::move(target)), config_(std::move(config)) {
    init_ = graph_.default_init_op();
    local_init_ = graph_.default_local_init_op();
  }
  crochet::Graph& graph() override { return graph_; }
  void extend(const std::string& name) override { graph_.group(name, {}); }
  Output placeholder() override { return graph_.output("placeholder"); }
  std::unique_ptr<crochet::Session> new_session() override {
    std::unique_ptr<crochet::Session> session = graph_.new_session(target_, config_);
    session->run({init_, local_init_});
    return session;
  }
  std::string target() const override { return target_; }
  bool calls_in_probe() const override { return false; }
  int64_t count_probes(crochet::Session& session) override {
    return session.run(graph_.definition().variables.at("local_variables").at(0).snapshot_name)
        .scalar<int64_t>();
  }

 private:
  Graph graph_;
  const std::string target_;
  const SessionConfig config_;
  Output init_;
  Output local_init_;
};

struct ResourceEngine final : ImportedEngine {
  ResourceEngine() : ImportedEngine("contract_resource") {}
};
struct SingleThreadedEngine final : ImportedEngine {
  SingleThreadedEngine() : ImportedEngine("contract_resource", "", single_threaded_config()) {}
};
struct ReferenceEngine final : ImportedEngine {
  ReferenceEngine() : ImportedEngine("contract_reference") {}
};
struct RemoteResourceEngine final : ImportedEngine {
  RemoteResourceEngine()
      : ImportedEngine("contract_resource", test_server().target(), isolated_config()) {}
};
struct RemoteReferenceEngine final : ImportedEngine {
  RemoteReferenceEngine()
      : ImportedEngine("contract_reference", test_server().target(), isolated_config()) {}
};

}  // namespace
}  // namespace crochet::tensorflow

namespace crochet {

INSTANTIATE_TYPED_TEST_SUITE_P(TensorFlowResource, SessionContract, tensorflow::ResourceEngine);
INSTANTIATE_TYPED_TEST_SUITE_P(TensorFlowSingleThreaded, SessionContract,
                               tensorflow::SingleThreadedEngine);
INSTANTIATE_TYPED_TEST_SUITE_P(TensorFlowReference, SessionContract, tensorflow::ReferenceEngine);
INSTANTIATE_TYPED_TEST_SUITE_P(TensorFlowRemoteResource, SessionContract,
                               tensorflow::RemoteResourceEngine);
INSTANTIATE_TYPED_TEST_SUITE_P(TensorFlowRemoteReference, SessionContract,
                               tensorflow::RemoteReferenceEngine);

}  // namespace crochet
