// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>

#include "crochet/base/export.h"
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

}  // namespace crochet::inline v0
