// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <utility>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/session/session.h"

namespace crochet::inline v0 {

struct Scaffold;

// Initialises a new session in code: a callable that takes either the session, or the scaffold it
// is called for and the session. Empty by default.
class CROCHET_EXPORT InitFn {
 public:
  InitFn() = default;
  template <std::invocable<Session&> F>
  InitFn(F call)
      : call_([call = std::move(call)](const Scaffold&, Session& session) { call(session); }) {}
  template <std::invocable<const Scaffold&, Session&> F>
  InitFn(F call) : call_(std::move(call)) {}

  explicit operator bool() const { return static_cast<bool>(call_); }
  void operator()(const Scaffold& scaffold, Session& session) const { call_(scaffold, session); }

 private:
  std::function<void(const Scaffold& scaffold, Session& session)> call_;
};

// What a session needs in addition to the graph: how to initialise, save and summarise it.
// finalize() fills in unset members; most programs set none or one.
// Each member that holds operations takes one, a list of them, or names.
//
// A new session is made ready in this order: a checkpoint is restored, or else init_op and init_fn
// are run; then local_init_op, if ready_for_local_init_op allows it; then ready_op reports whether
// everything is ready. An engine whose variables always have values, such as the local one, needs
// none of these.
struct CROCHET_EXPORT Scaffold {
  // Saves and restores. By default the graph's (see register_saver()), or else a Saver with its
  // defaults and allow_empty, which becomes the graph's.
  std::shared_ptr<Saver> saver = {};
  // Run with init_feed_dict in a session that was not restored: the graph's collection "init_op",
  // or Graph::default_init_op().
  Fetches init_op = {};
  Feeds init_feed_dict = {};
  // Called after init_op: f(Session&), or f(const Scaffold&, Session&) with the scaffold it is
  // used in.
  InitFn init_fn = {};
  // Gives the names of uninitialised variables, or no value if there are none: the collection
  // "ready_op", or Graph::default_ready_op().
  Fetches ready_op = {};
  // The same for what local_init_op needs: the collection "ready_for_local_init_op", or
  // Graph::default_ready_for_local_init_op().
  Fetches ready_for_local_init_op = {};
  // Run with local_init_feed_dict in every session, restored or not: the collection
  // "local_init_op", or Graph::default_local_init_op().
  Fetches local_init_op = {};
  Feeds local_init_feed_dict = {};
  // What SummarySaverHook fetches: the collection "summary_op", or a map from tag to value of all
  // of the graph's collections of summaries (graph.h), under the names of the operations.
  Fetches summary_op = {};

  // Fills in unset members, then finalizes the graph. Operations and a saver created here
  // are kept in the graph for the next scaffold; those that the user set are not. Calling it
  // again changes nothing.
  // Throws: FailedPreconditionError if a collection that must have at most one item has several.
  void finalize(Graph& graph);
};

// `own`, with its unset members taken from `source`. The init_fn is called with the
// scaffold it is used in, not the one it came from.
CROCHET_EXPORT Scaffold copy_from_scaffold(const Scaffold& source, Scaffold own = {});

}  // namespace crochet::inline v0
