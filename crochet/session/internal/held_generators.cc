// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/internal/held_generators.h"

#include <utility>

#include "crochet/base/internal/dynamic_type.h"

namespace crochet::inline v0::internal {
namespace {

class GeneratorSaveable final : public Saveable, public HoldableState {
 public:
  GeneratorSaveable(std::function<TensorMap()> save, std::function<void(const TensorMap&)> restore,
                    std::function<std::shared_ptr<void>()> hold)
      : save_(std::move(save)), restore_(std::move(restore)), hold_(std::move(hold)) {}

  TensorMap save() const override { return save_(); }
  void restore(const TensorMap& state) override { restore_(state); }
  std::shared_ptr<void> hold() override { return hold_(); }

 private:
  std::function<TensorMap()> save_;
  std::function<void(const TensorMap&)> restore_;
  std::function<std::shared_ptr<void>()> hold_;
};

}  // namespace

std::vector<std::shared_ptr<HoldableState>> HeldGenerators::find(const Graph& graph) {
  std::vector<std::shared_ptr<HoldableState>> found;
  for (const RegisteredSaveable& saveable : graph.saveables())
    if (auto* const state = dynamic_as<HoldableState>(saveable.object.get());
        state != nullptr && state->has_generators())
      found.emplace_back(saveable.object, state);
  return found;
}

HeldGenerators::HeldGenerators(const Graph& graph) : HeldGenerators(find(graph)) {}

HeldGenerators::HeldGenerators(std::span<const std::shared_ptr<HoldableState>> generators) {
  for (const auto& generator : generators) held_.push_back(generator->hold());
}

std::shared_ptr<Saveable> make_generator_saveable(std::function<TensorMap()> save,
                                                  std::function<void(const TensorMap&)> restore,
                                                  std::function<std::shared_ptr<void>()> hold) {
  return std::make_shared<GeneratorSaveable>(std::move(save), std::move(restore), std::move(hold));
}

}  // namespace crochet::inline v0::internal
