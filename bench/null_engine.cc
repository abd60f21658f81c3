// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/null_engine.h"

using namespace crochet;

namespace {

class NullSession final : public Session {
 public:
  explicit NullSession(NullGraph& graph) : graph_(graph), train_(graph.train()) {}

  Graph& graph() const override { return graph_; }
  const std::string& target() const override { return target_; }

  void run_into(std::span<const Output> fetches, const Feeds&, std::span<Tensor> results,
                const RunOptions&, RunMetadata*) override {
    bool trains = false;
    for (size_t i = 0; i < fetches.size(); ++i) {
      if (fetches[i] == train_) {
        trains = true;
      } else {
        results[i] = step_;
      }
    }
    if (trains) ++step_.mutable_flat<int64_t>()[0];
  }

  Snapshot snapshot(std::span<const Variable>) override { return {}; }
  void assign(std::span<const Assignment>) override {}
  void close() override {}

 private:
  NullGraph& graph_;
  const Output train_;
  const std::string target_;
  Tensor step_ = Tensor::scalar<int64_t>(0);
};

}  // namespace

NullGraph::NullGraph() : train_{this, "train", 0}, step_{this, "global_step", 1} {}

std::unique_ptr<Session> NullGraph::new_session(const std::string&, const SessionConfig&) {
  return std::make_unique<NullSession>(*this);
}

const OperationInfo* NullGraph::find_operation(std::string_view name) const {
  return name == train_.name ? &train_ : name == step_.name ? &step_ : nullptr;
}
