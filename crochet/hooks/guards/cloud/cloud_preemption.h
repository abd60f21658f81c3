// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The component `cloud`: notices of the clouds that take their machines back.
#pragma once

#include <memory>
#include <string>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/hooks/guards/preemption_hook.h"

namespace crochet::inline v0::cloud {

// The metadata server of the machine, which announces its end. It is asked by HTTP, on one
// thread, at no other address, and neither through a proxy nor where it redirects to.
struct MetadataServer {
  // With a port, if it is not 80: "127.0.0.1:8080".
  std::string host = "169.254.169.254";
  // The machine's if null. Not owned.
  Clock* clock = nullptr;
};

// For PreemptionHook. Throw: InvalidArgumentError for a text that is not a host.
//
// Google Compute Engine: a Spot machine ends 30 seconds after the notice. The server answers when
// there is one.
// https://cloud.google.com/compute/docs/instances/spot (2026)
CROCHET_EXPORT std::shared_ptr<PreemptionSource> gce_preemption(const MetadataServer& server = {});
// Amazon EC2, by IMDSv2: a Spot instance ends at the time that its instance-action has, two minutes
// after it. A rebalance recommendation only has the state saved. Asked every 5 seconds.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html (2026)
CROCHET_EXPORT std::shared_ptr<PreemptionSource> aws_preemption(const MetadataServer& server = {});
// Azure's scheduled events of this machine: Preempt (30 seconds before), Terminate, Reboot and
// Redeploy. Asked every second.
// https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events (2026)
CROCHET_EXPORT std::shared_ptr<PreemptionSource> azure_preemption(
    const MetadataServer& server = {});

}  // namespace crochet::inline v0::cloud
