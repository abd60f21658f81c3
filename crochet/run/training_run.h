// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "crochet/monitor/session_creator.h"
#include "crochet/run/monitored_training_session.h"

namespace crochet::inline v0::internal {

// Creates the session creator of a run, with the scaffold that the run uses.
using MakeCreator =
    std::function<std::unique_ptr<SessionCreator>(const std::shared_ptr<Scaffold>& scaffold)>;

// The creator that crochet::train() uses: for the chief, or for another process of a cluster.
std::unique_ptr<SessionCreator> make_creator(const MonitoredTrainingSessionOptions& options,
                                             const std::shared_ptr<Scaffold>& scaffold);

// As crochet::train(), with sessions created by another creator.
RunReport train(const MonitoredTrainingSessionOptions& options, const MakeCreator& make_creator,
                const std::function<void(MonitoredSession& session)>& body);

}  // namespace crochet::inline v0::internal
