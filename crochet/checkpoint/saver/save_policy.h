// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace crochet {

// What becomes of a save that is due while another one is still being written.
enum class SaveOverlapPolicy {
  kWait,        // Training waits until that one is written: none is lost.
  kSkip,        // It is not made; the one that is being written goes on.
  kNewestWins,  // It is next; if another one was, that is given up.
};

// What follows a save that could not be written, after all retries.
enum class SaveErrorPolicy {
  kContinue,  // Training goes on, with an error in the log; only the last save is thrown, at the
              // end.
  kStop,      // The error is thrown, once, by the next run, or at the end if there is none.
};

}  // namespace crochet
