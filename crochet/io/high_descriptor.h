// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace crochet::inline v0 {

// Returns a descriptor of the same open file that is 3 or above, marked close-on-exec;
// `descriptor` itself if it is already 3 or above, or negative. In a program started without
// standard streams, files would get 0 to 2, to which other code prints. Closes the lower one; if
// the system has no other, returns -1 with errno set.
int above_standard_streams(int descriptor) noexcept;

}  // namespace crochet::inline v0
