// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/session_contract.h"

#include "crochet/engines/local/graph.h"

namespace crochet::local {
namespace {

// The engine under test: a local graph in this process.
class LocalEngine : public SessionContractEngine {
 public:
  LocalEngine() {
    graph_.group("train", {graph_.increment_global_step()});
    graph_.op("probe", [this] { return probe(); });
    placeholder_ = graph_.placeholder<float>("placeholder", {-1, 2});
  }
  crochet::Graph& graph() override { return graph_; }
  void extend(const std::string& name) override {
    graph_.op(name, [] { return Tensor(); });
  }
  Output placeholder() override { return placeholder_; }

 protected:
  Graph graph_;

 private:
  Output placeholder_;
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
