// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace crochet {

// The descriptor of the same open file that is 3 or above, marked to be closed by exec;
// `descriptor` itself if it is one already, or negative. In a program that was started without
// standard streams files would get 0 to 2, to which others print. Closes the lower one; if the
// system gives no other, returns -1 with errno set.
int above_standard_streams(int descriptor) noexcept;

}  // namespace crochet
