// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "crochet/monitor/scaffold.h"
#include "crochet/session/session.h"

namespace crochet {

// Makes the sessions of a monitored session: the first, and one for each recovery.
class SessionCreator {
 public:
  virtual ~SessionCreator() = default;

  virtual Graph& graph() const = 0;
  // Finalizes the graph and makes a session that is ready to run.
  virtual std::unique_ptr<Session> create_session() = 0;
};

struct ChiefSessionCreatorOptions {
  std::shared_ptr<Scaffold> scaffold = {};  // One with all defaults.
  // Where the session runs; see Graph::new_session.
  std::string master = {};
  // Restored from if it holds a checkpoint; empty: always a fresh start.
  std::string checkpoint_dir = {};
  std::string checkpoint_basename = "model.ckpt";
};

// Restores the newest sound checkpoint, or starts afresh if the directory holds none at all.
class ChiefSessionCreator final : public SessionCreator {
 public:
  // Requires: the graph outlives this.
  explicit ChiefSessionCreator(Graph& graph, ChiefSessionCreatorOptions options = {});

  Graph& graph() const override { return graph_; }
  // Throws: as Saver::restore_newest, and what init_fn throws.
  std::unique_ptr<Session> create_session() override;

 private:
  Graph& graph_;  // Not owned; outlives this.
  const ChiefSessionCreatorOptions options_;
};

}  // namespace crochet
