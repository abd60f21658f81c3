// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/session_contract.h"

#include "crochet/engines/local/graph.h"

namespace crochet::local {
namespace {

// What every engine of this process has in common.
class LocalEngine : public SessionContractEngine {
 public:
  LocalEngine() {
    graph_.create_global_step();
    const Operation step = graph_.increment_global_step({});
    graph_.add({.name = "train", .control_inputs = {step}});
    graph_.value("probe", [this] { return probe(); });
  }
  crochet::Graph& graph() override { return graph_; }
  void extend(const std::string& name) override {
    graph_.value(name, [] { return Tensor(); });
  }

 protected:
  Graph graph_;
};

class OwningEngine final : public LocalEngine {
 public:
  OwningEngine() {
    graph_.variable("matrix", matrix());
    graph_.variable("vector", vector());
  }
};

}  // namespace
}  // namespace crochet::local

namespace crochet {

INSTANTIATE_TYPED_TEST_SUITE_P(Local, SessionContract, local::OwningEngine);

}  // namespace crochet
