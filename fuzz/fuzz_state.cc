// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The state file `checkpoint`.
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "fuzz_target.h"

using namespace crochet;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return expect_typed_errors([&] {
    const CheckpointState state = parse_checkpoint_state(as_text(data, size));
    const std::string text = to_text(state);
    require(to_text(parse_checkpoint_state(text)) == text);
  });
}
