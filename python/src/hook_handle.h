// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/training/session_run_hook.h"

namespace crochet::python {

// A hook, as Python holds it.
struct HeldHook {
  HookHandle hook;
};

}  // namespace crochet::python
