// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/monitor/session_creator.h"

#include "crochet/base/log.h"

namespace crochet {
namespace {

ChiefSessionCreatorOptions with_scaffold(ChiefSessionCreatorOptions options) {
  if (!options.scaffold) options.scaffold = std::make_shared<Scaffold>();
  return options;
}

}  // namespace

ChiefSessionCreator::ChiefSessionCreator(Graph& graph, ChiefSessionCreatorOptions options)
    : graph_(graph), options_(with_scaffold(std::move(options))) {}

std::unique_ptr<Session> ChiefSessionCreator::create_session() {
  Scaffold& scaffold = *options_.scaffold;
  scaffold.finalize(graph_);
  std::unique_ptr<Session> session = graph_.new_session(options_.master);
  if (!options_.checkpoint_dir.empty()) {
    const auto prefix = scaffold.saver->restore_newest(*session, options_.checkpoint_dir,
                                                       options_.checkpoint_basename);
    if (prefix) {
      log_info("restored {}", *prefix);
      return session;
    }
    log_info("{} holds no checkpoint: a fresh start", options_.checkpoint_dir);
  }
  if (scaffold.init_fn) scaffold.init_fn(*session);
  return session;
}

}  // namespace crochet
