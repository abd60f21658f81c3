// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <list>
#include <vector>

#include "crochet/group/internal/line.h"
#include "crochet/group/internal/membership.h"

namespace crochet::inline v0::internal {

// The door of a group, in rank 0: accepts connections, and lets in those of its ranks. Anyone may
// connect, and send anything or nothing.
class Greeter {
 public:
  // `joins` returns whether there is no such line yet; it is called before a rank is notified that
  // it is welcome, and with the line once the rank has confirmed.
  using IsFree = std::function<bool(const Greeting&)>;
  using Join = std::function<void(const Greeting&, Line)>;

  Greeter(Membership self, Socket listener, IsFree is_free, Join join);

  // What poll() shall wait for.
  void add_events(std::vector<pollfd>& events) const;
  // Does what is possible at once.
  void look();
  const Membership& self() const { return self_; }

 private:
  struct Newcomer {
    Line line;
    std::chrono::steady_clock::time_point came;
    std::optional<Greeting> greeting = {};  // Of one that is welcome.
  };

  void accept_all();
  // Returns false if the newcomer is to be forgotten.
  bool attend(Newcomer& newcomer);
  bool reply(Newcomer& newcomer, Greeting greeting);

  const Membership self_;
  const Socket listener_;
  const IsFree is_free_;
  const Join join_;
  std::list<Newcomer> newcomers_;
};

}  // namespace crochet::inline v0::internal
