// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "crochet/engines/tensorflow/cluster_spec.h"

namespace crochet::inline v0::tensorflow::internal {

// The members of a cluster that a session with these settings waits for and that accept no
// connection now: "/job:ps/task:0 at 10.0.0.1:2222 (Connection refused)". A suspended member still
// accepts connections. Waits a moment for each.
// `config`: a serialized ConfigProto, whose device filters are used.
std::vector<std::string> absent_members(const ClusterSpec& cluster, std::string_view config);

}  // namespace crochet::inline v0::tensorflow::internal
