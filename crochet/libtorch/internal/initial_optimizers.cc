// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/initial_optimizers.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/listed.h"
#include "crochet/base/log.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::libtorch::internal {

TensorMap InitialOptimizer::save_options() const {
  std::vector<std::string> texts;
  for (const auto& [name, value] : options) texts.push_back(name + '=' + value);
  const auto size = static_cast<int64_t>(texts.size());
  return {{"", Tensor::from(std::move(texts), {size})}};
}

void InitialOptimizer::compare_options(const TensorMap& state, const std::string& optimizer,
                                       const std::set<std::string>& read) {
  const auto found = state.find("");
  if (found == state.end() || found->second.dtype() != DType::kString)
    throw InvalidArgumentError("expected texts \"name=value\"");
  std::vector<std::string> differences, names;
  for (const std::string& text : found->second.strings()) {
    const size_t end = std::min(text.find('='), text.size());
    const std::string name = text.substr(0, end);
    const auto own = options.find(name);
    if (own == options.end() || !read.contains(name)) continue;
    std::string stored = text.substr(std::min(end + 1, text.size()));
    if (stored == own->second) continue;
    differences.push_back(fmt::format("{} = {} (this program: {})", name, stored, own->second));
    names.push_back(fmt::format("\"{}/{}\"", optimizer, name));
    own->second = std::move(stored);
  }
  if (!differences.empty())
    log_warning(fmt::format(
        "optimizer \"{}\": the options of the checkpoint's run count: {}; .restore.keep = {{{}}} "
        "keeps this program's",
        optimizer, crochet::internal::listed(differences), crochet::internal::listed(names)));
}

std::shared_ptr<InitialOptimizers> InitialOptimizers::of(local::Graph& graph) {
  if (const auto attached = graph.attached<InitialOptimizers>(); !attached.empty())
    return attached.front();
  const auto all = std::make_shared<InitialOptimizers>();
  graph.attach(all);
  return all;
}

}  // namespace crochet::inline v0::libtorch::internal
