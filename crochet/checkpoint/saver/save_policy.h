// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace crochet::inline v0 {

// What happens to a save that is due while another one is still being written.
enum class SaveOverlapPolicy {
  kWait,        // Training waits until that one is written: no save is lost.
  kSkip,        // It is skipped; the one being written continues.
  kNewestWins,  // It is written next; another one that was waiting is skipped.
};

// What happens after a save that could not be written, after all retries. A state that no save can
// store (SaveFault::kState) always stops the run.
enum class SaveErrorPolicy {
  kContinue,  // Training continues, with an error in the log; only the error of the last save is
              // thrown, at the end.
  kStop,      // The error is thrown once, by the next run, or at the end if there is no next run.
};

}  // namespace crochet::inline v0
